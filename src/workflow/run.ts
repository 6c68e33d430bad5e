import { type Json, LIMITS, RlmError } from "../../runtime/index.ts";
import { WORKFLOW_TOKENS } from "../platform/agent-commands.ts";
import { meantBy } from "../platform/nearest.ts";
import {
  type ExecEnvelope,
  type ExecOptions,
  openSessionWith,
  type Session,
  type SessionOptions,
  type WaitOptions,
} from "../session/index.ts";
import { type WorkflowCell, workflowCell } from "./cell.ts";
import { lentScripts } from "./host.ts";
import { readWorkflow, type WorkflowScript } from "./script.ts";

/** Options of a run in code: those of its session, and its own. */
export type RunWorkflowOptions = SessionOptions & WorkflowOptions;

interface WorkflowOptions extends WaitOptions, Pick<ExecOptions, "signal" | "suspend"> {
  /** The value of `args` in the script; default: undefined. */
  readonly args?: Json | undefined;
  /** Name of the agent that answers calls which name none (default: the session's model). */
  readonly agent?: string | undefined;
  /** Models of the session by the short names that scripts use, such as `haiku`. */
  readonly agentModels?: { readonly [name: string]: string } | undefined;
  /** Scripts that `workflow(NAME)` runs, by name. */
  readonly workflows?: { readonly [name: string]: string } | undefined;
}

/** Limits of a run, unless others are set. */
export const WORKFLOW_BUDGET = {
  max_sub_calls: LIMITS.workflowAgents,
  max_tokens: WORKFLOW_TOKENS,
  max_time_ms: 86_400_000,
} as const;

/** Limits of the output of a run, which is a line for each thing that went wrong, and more. */
export const WORKFLOW_OUTPUT = { max_output_bytes: 2 ** 20 } as const;

/**
 * Runs a script in the format of Claude Code's dynamic workflows. If its session has begun the same script with the same `args` and
 * `agent`, the run continues, or its record is returned. If the envelope has `resumable: true`, a person has to act: the same call then
 * continues the run. Agents that gave no answer are counted in the warning `agents_unanswered`.
 *
 * @throws RlmError `invalid_argument` with the place in the script, and what `openSession` throws
 */
export async function runWorkflow(source: string, options: RunWorkflowOptions = {}): Promise<ExecEnvelope> {
  const { args, agent, agentModels, workflows, signal, suspend, resendDoubtful, wait_ms, ...ofSession } = options;
  const script = readWorkflow(source, "workflow.js");
  const { budget = {}, limits = {}, functions = {}, agents = {} } = ofSession;
  const names = Object.keys(agents);
  refuseUnknownAgent(agent, names);
  const cell = workflowCell(script, {
    args,
    agents: names,
    usual: agent,
    aliases: agentModels,
    tokens: budget.max_tokens !== undefined,
    dollars: budget.max_cost_usd !== undefined,
    nested: workflows !== undefined,
  });
  const hosted = {
    concurrency: LIMITS.workflowAtOnce,
    waitsForUser: true,
    ...ofSession,
    budget: { ...WORKFLOW_BUDGET, ...budget },
    limits: { ...WORKFLOW_OUTPUT, ...limits },
    functions: workflows ? { ...functions, ...lentScripts(workflows) } : functions,
  };
  await using session = await openSessionWith(hosted, { tokensAreUsual: budget.max_tokens === undefined });
  return await runCell(session, cell, script, { signal, suspend, resendDoubtful, wait_ms });
}

/** Begins the run in a session, continues it there, or returns its record. */
async function runCell(
  session: Session,
  { source, asked }: WorkflowCell,
  { meta }: WorkflowScript,
  options: WaitOptions & Pick<ExecOptions, "signal" | "suspend">,
): Promise<ExecEnvelope> {
  const isSame = (input: Json) => typeof input === "string" && input.startsWith(asked);
  const unfinished = session.unfinished();
  const last = !unfinished || isSame(unfinished.input) ? await session.resume(options) : null;
  if (last?.kind === "cell" && isSame(last.input) && last.envelope && "stdout" in last.envelope) return last.envelope;
  return session.exec(source, { ...options, name: meta.name, workflow: true });
}

function refuseUnknownAgent(agent: string | undefined, names: readonly string[]): void {
  if (agent === undefined || names.includes(agent)) return;
  throw new RlmError("invalid_argument", `the agent ${agent} is not in \`agents\`${meantBy(agent, names)}`, {
    suggestion: names.length > 0 ? `Agents are ${names.join(", ")}.` : "Pass it in `agents`, or leave `agent` out.",
  });
}
