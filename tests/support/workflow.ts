import type { Json } from "../../runtime/index.ts";
import type { HostedOptions } from "../../src/session/index.ts";
import { readWorkflow, type WorkflowSettings, workflowCell } from "../../src/workflow/index.ts";
import { openScripted } from "./scripted-session.ts";

/** A meta for scripts of tests. */
export const META = 'export const meta = { name: "w", description: "a trial" };';

/** Settings of a trial, and options of its session. */
interface Trial {
  readonly settings?: WorkflowSettings;
  readonly options?: HostedOptions;
}

/**
 * Runs the rest of a script in a session whose model answers as a function does.
 *
 * @param rest the script behind its meta, from the second line
 */
export async function runScript(
  rest: string,
  answer: Parameters<typeof openScripted>[0] = () => "yes",
  { settings = {}, options = {} }: Trial = {},
) {
  const opened = await openScripted(answer, { concurrency: 16, ...options });
  const script = readWorkflow(`${META}\n${rest}`, "w.js");
  const envelope = await opened.session.exec(workflowCell(script, settings).source, { workflow: true });
  const records = await opened.journal();
  /** Options of each call, as the session has them. */
  const calls = records.flatMap((record): Json[] =>
    record.record === "rlm_tool_call" ? [record.args[1] ?? null] : [],
  );
  const { stderr, stdout, result_json: result, warnings } = envelope;
  const error = envelope.success ? null : `${envelope.error_message} | ${envelope.suggestion}`;
  return {
    ...opened,
    envelope,
    calls,
    result,
    error,
    warnings,
    out: stdout,
    lines: stderr.split("\n").filter(Boolean),
  };
}
