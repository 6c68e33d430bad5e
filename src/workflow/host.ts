import { type Json, RlmError } from "../../runtime/index.ts";
import type { AgentCommands } from "../platform/agent-commands.ts";
import { isNetworkPath } from "../platform/paths.ts";
import type { SessionFunction, SessionOptions } from "../session/index.ts";
import type { WorkflowPlaces } from "./saved.ts";
import { refuseUntrusted, savedWorkflow, workflowAt } from "./saved.ts";
import { readWorkflow, type WorkflowScript } from "./script.ts";

/** The user's settings that workflows of a host see. */
export interface WorkflowHost {
  /** Belay's home folder, which has the user's saved ones; null: the usual one. */
  readonly belayHome: string | null;
  /** Models by the short names that scripts use. */
  readonly models: Readonly<Record<string, string>>;
  /** The user has set a ceiling of tokens, or of dollars. */
  readonly hasTokens: boolean;
  readonly hasDollars: boolean;
}

/** The settings of which it is made. */
interface HostSettings {
  readonly agent_models?: Readonly<Record<string, string>> | undefined;
  readonly max_tokens?: number | undefined;
  readonly max_cost_usd?: number | undefined;
}

export function workflowHost(
  { agent_models = {}, max_tokens, max_cost_usd }: HostSettings,
  belayHome: string,
): WorkflowHost {
  return {
    belayHome,
    models: agent_models,
    hasTokens: max_tokens !== undefined,
    hasDollars: max_cost_usd !== undefined,
  };
}

/**
 * The options with which a session runs workflows. A nested workflow is one that the user has
 * written or trusted. A call that cannot be made before a person acts suspends the run.
 *
 * @param agents those of the user's that it may ask
 */
export function workflowOptions(
  agents: AgentCommands,
  places: WorkflowPlaces,
): Pick<SessionOptions, "agents" | "functions" | "waitsForUser"> {
  return { agents, functions: lentSaved(places), waitsForUser: true };
}

/** The function by which `workflow()` gets scripts, as a session takes it. */
interface LentSource {
  readonly workflow_source: SessionFunction;
  readonly [name: string]: SessionFunction;
}

/** Lends saved workflows to `workflow()`, and scripts by their path: those that the user has written or trusted. */
function lentSaved(places: WorkflowPlaces): LentSource {
  return lentSource(({ name, path }) => {
    if (name === null && isNetworkPath(path ?? ""))
      throw new RlmError("policy_violation", `${path} is not on this computer`, { suggestion: "Copy it to this one." });
    const found = name === null ? workflowAt(places, path ?? "") : savedWorkflow(places, name);
    refuseUntrusted(found);
    return found.script;
  });
}

/** Lends the scripts of a program to `workflow()`, by name. */
export function lentScripts(workflows: { readonly [name: string]: string }): LentSource {
  return lentSource(({ name, path }) => {
    const asked = name ?? path ?? "";
    const source = Object.hasOwn(workflows, asked) ? workflows[asked] : undefined;
    if (source !== undefined) return readWorkflow(source, `${asked}.js`);
    throw new RlmError("invalid_argument", `the workflow ${asked} is not in \`workflows\``, {
      suggestion: `Workflows are ${Object.keys(workflows).join(", ") || "none"}.`,
    });
  });
}

/** The argument of `workflow()`: one of both. */
interface AskedWorkflow {
  readonly name: string | null;
  /** That of `{ scriptPath }`. */
  readonly path: string | null;
}

/**
 * Makes the function by which `workflow()` gets scripts.
 *
 * @param find returns the script that was asked for, and throws if there is none or it is not trusted
 */
function lentSource(find: (asked: AskedWorkflow) => WorkflowScript): LentSource {
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
