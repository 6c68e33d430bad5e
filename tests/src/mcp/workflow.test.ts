import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SessionSource } from "../../../src/mcp/index.ts";
import { openSessionWith } from "../../../src/session/session.ts";
import { readWorkflow, trustWorkflow } from "../../../src/workflow/index.ts";
import { heldAnswers } from "../../support/held-answers.ts";
import { lengthAnswers } from "../../support/length-answers.ts";
import { folderWith } from "../../support/tree.ts";
import { openPair, type PairOptions, project } from "./pair.ts";

const META = 'export const meta = { name: "audit", description: "looks at files", phases: [{ title: "Find" }] };\n';
const SCRIPT = `${META}phase("Find");
const found = await parallel(args.files.map((file) => () => agent("Audit " + file, { label: file })));
log("found " + found.length);
return found;`;
const CALL = { script: SCRIPT, args: { files: ["a.ts", "b.ts"] } };

/** A home of Belay's, and a server of a project that runs workflows. */
function lent(more: PairOptions = {}) {
  const belayHome = folderWith({});
  const workflows = async () => ({ belayHome, models: { quick: "local/m" }, hasTokens: false, hasDollars: false });
  return { belayHome, options: { tools: "workflow", source: { workflows }, ...more } satisfies PairOptions };
}

test("a script runs with agents in place of calls, prints its lines and gives its result; wrong arguments are named", async () => {
  const { call, client } = await openPair(project(), { ...lent().options, answers: lengthAnswers() });
  const names = (await client.listTools()).tools.map(({ name }) => name);
  expect(names).toEqual([
    ...["rlm_load", "rlm_load_append", "rlm_exec", "rlm_query", "rlm_ask", "rlm_status", "rlm_wait", "rlm_workflow"],
  ]);
  const answer = await call("rlm_workflow", CALL);
  expect(answer).toMatchObject({ success: true, result_json: ["10", "10"], stderr: "— Find\nfound 2\n" });
  for (const [args, problem] of [
    [{}, "it needs script or name"],
    [{ ...CALL, name: "audit" }, "script and name do not go together"],
    [{ script: "return 1" }, "the first statement must be `export const meta = { name, description }`"],
    [{ script: `${META}const = 1` }, "workflow.js:2:7: Unexpected token"],
    [{ ...CALL, args: { id: 2 ** 53 + 2 } }, "whole numbers beyond 2^53 are rounded"],
    [{ ...CALL, argv: 1 }, "unknown argv; did you mean args?"],
  ] as const) {
    const refused = await call("rlm_workflow", args);
    expect(refused).toMatchObject({ success: false, error_code: "invalid_argument" });
    expect(refused.error_message).toContain(problem);
  }
});

test("a saved workflow of the user's runs by its name, and one of the project's once its text is trusted", async () => {
  const of = project();
  const { belayHome, options } = lent({ answers: lengthAnswers() });
  const saved = (folder: string, name: string, result: string) => {
    const file = join(folder, "workflows", `${name}.js`);
    mkdirSync(join(folder, "workflows"), { recursive: true });
    writeFileSync(file, `export const meta = { name: "${name}", description: "d" };\nreturn ${result};`);
    return file;
  };
  saved(belayHome, "mine", "await workflow('theirs')");
  const file = saved(join(of.folder, ".belay"), "theirs", "'from the project'");
  const { call } = await openPair(of, options);
  const refused = await call("rlm_workflow", { name: "theirs" });
  expect(refused).toMatchObject({ success: false, error_code: "policy_violation" });
  expect(refused.suggestion).toContain("--trust");
  expect(await call("rlm_workflow", { name: "their" })).toMatchObject({
    error_code: "invalid_argument",
    error_message: expect.stringContaining("did you mean theirs?"),
  });
  const source = `export const meta = { name: "theirs", description: "d" };\nreturn 'from the project';`;
  const places = { cwd: of.folder, home: "/nobody", belayHome };
  trustWorkflow(places, { file, isTrusted: false, script: readWorkflow(source, file) });
  expect(await call("rlm_workflow", { name: "theirs" })).toMatchObject({ result_json: "from the project" });
  // This server lends no scripts to scripts.
  expect((await call("rlm_workflow", { name: "mine" })).error_message).toContain("workflow()");
  saved(join(of.folder, ".belay"), "theirs", "'changed'");
  expect(await call("rlm_workflow", { name: "theirs" })).toMatchObject({ error_code: "policy_violation" });
});

test("while agents work the status counts them by phase, and notes tell of them", async () => {
  const held = heldAnswers();
  const { call } = await openPair(project(), { ...lent().options, answers: held.answers });
  const notes: string[] = [];
  const onprogress = ({ message = "" }) => void notes.push(message);
  const running = call("rlm_workflow", CALL, { onprogress });
  await held.asked();
  const phases = [{ phase: "Find", running: 0, waiting: 2, done: 0, failed: 0 }];
  expect(await call("rlm_status")).toMatchObject({ running: { tool: "rlm_workflow", done: 0, phases } });
  held.letGo();
  expect(await running).toMatchObject({ success: true });
});

test("the status says what an unfinished run waits for", async () => {
  const of = project();
  const { options } = lent();
  const open: SessionSource["open"] = (store, { row, name, folder, roots, onProgress, client }) =>
    openSessionWith(
      {
        ...{ session: row?.id ?? name, roots, cwd: of.folder, onProgress, waitsForUser: true },
        agents: { missing: { command: ["/no/such/program"] } },
      },
      { store, origin: "mcp", settings: () => ({ folder, client }) },
    );
  const { call } = await openPair(of, { ...options, source: { ...options.source, open } });
  expect(await call("rlm_status")).toMatchObject({ waits_for: null });
  expect(await call("rlm_workflow", CALL)).toMatchObject({ error_code: "no_model_configured", resumable: true });
  const waits_for = { code: "no_model_configured", message: expect.stringContaining("missing could not be started") };
  expect(await call("rlm_status")).toMatchObject({ unfinished: { kind: "workflow" }, waits_for });
});

test("the same call after a kill goes on, other calls are refused until it is over, and after its end it is another run", async () => {
  const of = project();
  const held = heldAnswers();
  const first = await openPair(of, { ...lent().options, answers: held.answers });
  await first.call("rlm_load", { path: of.folder });
  void first.call("rlm_workflow", CALL).catch(() => {});
  await held.asked();
  await first.close();
  const asked: string[] = [];
  const answers = lengthAnswers({ onAsked: (prompt) => void asked.push(prompt) });
  const { call } = await openPair(of, { ...lent().options, answers });
  const unfinished = { kind: "workflow", input: "workflow audit: looks at files" };
  expect(await call("rlm_status")).toMatchObject({ unfinished });
  for (const [name, args] of [
    ["rlm_exec", { code: "1" }],
    ["rlm_workflow", { ...CALL, args: { files: [] } }],
  ] as const) {
    expect(await call(name, args)).toMatchObject({
      error_code: "exec_unfinished",
      suggestion: expect.stringMatching(/The same rlm_workflow call goes on with it; .*rlm_wait and discard: true/),
    });
  }
  expect(asked).toEqual([]);
  const finished = await call("rlm_workflow", CALL);
  expect(finished).toMatchObject({ success: true, resumed: 1, result_json: ["10", "10"] });
  expect(asked).toEqual(["Audit a.ts", "Audit b.ts"]);
  expect(await call("rlm_wait")).toMatchObject({ exec_id: finished.exec_id, result_json: ["10", "10"] });
  const again = await call("rlm_workflow", CALL);
  expect(again).toMatchObject({ success: true, resumed: 0 });
  expect(again.exec_id).not.toBe(finished.exec_id);
});
