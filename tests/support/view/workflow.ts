import { DEFAULT_EXEC_LIMITS, noOutput } from "../../../runtime/index.ts";
import { describeExecs } from "../../../src/history/index.ts";
import type { SessionDescription } from "../../../src/index.ts";
import type { Complete } from "../../../src/session/journal/records.ts";
import { readWorkflow, workflowCell } from "../../../src/workflow/index.ts";
import { sessionOf } from "../ask/described.ts";
import { openJournal } from "../ask/journal.ts";

const SCRIPT = `// Looks twice.
export const meta = {
  name: "audit",
  description: "Looks for faults, and <b>verifies</b> each",
  phases: [{ title: "Find" }, { title: "Verify" }, { title: "Report" }],
};
return (await parallel(args.files.map((file) => () => agent("Audit " + file)))).filter(Boolean);
`;

const { source } = workflowCell(readWorkflow(SCRIPT, "audit.js"), { args: { files: ["a.ts"] }, usual: "claude" });

const state = (stderr: string): NonNullable<Complete["state"]> => ({
  exec_id: "run",
  cell: 1,
  limits: DEFAULT_EXEC_LIMITS,
  output: { ...noOutput(), stderr },
  warnings: [],
  running_ms: 1,
  next_call: 1,
});

/** Where the run of a trial stands. */
type End = "ok" | "failed" | "open";

/** A run of a workflow: agents of the second phase begin before all of the first have ended, one fails. */
export function workflowSession(
  end: End = "ok",
  agents = 3,
  more: Partial<SessionDescription> = {},
): SessionDescription {
  const journal = openJournal(Date.UTC(2026, 2, 3, 10));
  journal.start("run", "cell", source, { workflow: true });
  const call = (number: number, prompt: string, options: { [name: string]: string }) =>
    journal.call("run", number, "llm_query", [prompt, { agent: "claude", ...options }]);
  for (let at = 1; at <= agents; at++) call(at, `Audit ${at}.ts`, { label: `file ${at}`, phase: "Find" });
  call(agents + 1, "Verify <i>1.ts</i>\nwith care", { phase: "Verify", model: "opus", isolation: "worktree" });
  call(agents + 2, "Sum up", { label: "sum", phase: "Late" });
  const claude = { model: "agent:claude/default" };
  journal.result("run", 1, "llm_query", "one fault", claude);
  const failure = { code: "timeout", message: "took longer than its time" };
  journal.result("run", 2, "llm_query", failure, { ...claude, success: false });
  for (let at = 3; at <= agents; at++) journal.result("run", at, "llm_query", "none", claude);
  if (end !== "open") {
    journal.result("run", agents + 1, "llm_query", "it holds", { model: "agent:claude/opus" });
    journal.result("run", agents + 2, "llm_query", "1 fault", { model: "anthropic/claude-haiku-4-5" });
    const stderr = "— Find\nagent file 2 gave no answer: took longer than its time\n";
    const done = { kind: "ok", result: '["one fault"]', meta: null } as const;
    journal.end("run", "cell", {
      state: state(stderr),
      ...(end === "ok"
        ? { end: done }
        : { success: false, error_code: "js_error", error_message: "it broke", end: null }),
    });
  }
  return sessionOf(describeExecs(journal.records), { name: "audit-f06ce6", ...more });
}
