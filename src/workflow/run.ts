import { type Json, LIMITS, RlmError } from "../../runtime/index.ts";
import { meantBy } from "../platform/nearest.ts";
import {
  type ExecEnvelope,
  type ExecOptions,
  openSession,
  type Session,
  type SessionFunction,
  type SessionOptions,
  type WaitOptions,
} from "../session/index.ts";
import { type WorkflowCell, workflowCell } from "./cell.ts";
import { refuseUntrusted, savedWorkflow, type WorkflowPlaces, workflowAt } from "./saved.ts";
import { readWorkflow, type WorkflowScript } from "./script.ts";

/** Options of a run in code: those of its session, and its own. */
export type RunWorkflowOptions = SessionOptions & WorkflowOptions;

interface WorkflowOptions extends WaitOptions, Pick<ExecOptions, "signal" | "suspend"> {
  /** The value of `args` in the script; default: undefined. */
  readonly args?: Json | undefined;
  /** The name of the one of `agents` that answers calls which name none; default: the session's model answers. */
  readonly agent?: string | undefined;
  /** Models of the session by the short names that scripts use, such as `haiku`. */
  readonly agentModels?: { readonly [name: string]: string } | undefined;
  /** Scripts that `workflow(NAME)` runs, by name. */
  readonly workflows?: { readonly [name: string]: string } | undefined;
}

/** Limits of a run, unless others are set. */
export const WORKFLOW_BUDGET = {
  max_sub_calls: LIMITS.workflowAgents,
  max_tokens: 10_000_000,
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
  await using session = await openSession({
    concurrency: LIMITS.workflowAtOnce,
    waitsForUser: true,
    ...ofSession,
    budget: { ...WORKFLOW_BUDGET, ...budget },
    limits: { ...WORKFLOW_OUTPUT, ...limits },
    functions: workflows ? { ...functions, ...lentSource((asked) => scriptIn(workflows, asked)) } : functions,
  });
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

/** Lends saved workflows to `workflow()`, and scripts by their path: those that the user has written or trusted. */
export function lentSaved(places: WorkflowPlaces): LentSource {
  return lentSource(({ name, path }) => {
    const found = name === null ? workflowAt(places, path ?? "") : savedWorkflow(places, name);
    refuseUntrusted(found);
    return found.script;
  });
}

function refuseUnknownAgent(agent: string | undefined, names: readonly string[]): void {
  if (agent === undefined || names.includes(agent)) return;
  throw new RlmError("invalid_argument", `the agent ${agent} is not in \`agents\`${meantBy(agent, names)}`, {
    suggestion: names.length > 0 ? `Agents are ${names.join(", ")}.` : "Pass it in `agents`, or leave `agent` out.",
  });
}

function scriptIn(workflows: { readonly [name: string]: string }, { name, path }: AskedWorkflow): WorkflowScript {
  const asked = name ?? path ?? "";
  const source = Object.hasOwn(workflows, asked) ? workflows[asked] : undefined;
  if (source !== undefined) return readWorkflow(source, `${asked}.js`);
  throw new RlmError("invalid_argument", `the workflow ${asked} is not in \`workflows\``, {
    suggestion: `Workflows are ${Object.keys(workflows).join(", ") || "none"}.`,
  });
}

/** The argument of `workflow()`: one of both. */
export interface AskedWorkflow {
  readonly name: string | null;
  /** That of `{ scriptPath }`. */
  readonly path: string | null;
}

/** The function by which `workflow()` gets scripts, as a session takes it. */
export interface LentSource {
  readonly workflow_source: SessionFunction;
  readonly [name: string]: SessionFunction;
}

/**
 * Makes the function by which `workflow()` gets scripts.
 *
 * @param find returns the script that was asked for, and throws if there is none or it is not trusted
 */
export function lentSource(find: (asked: AskedWorkflow) => WorkflowScript): LentSource {
  const text = (value: Json | undefined) => (typeof value === "string" ? value : null);
  return {
    workflow_source: {
      description: "The script of a workflow.",
      parameters: { type: "object", properties: { name: { type: "string" }, path: { type: "string" } } },
      effects: "none",
      runsDry: true,
      run: ({ name, path }) => {
        const { meta, body } = find({ name: text(name), path: text(path) });
        return { name: meta.name, body };
      },
    },
  };
}
