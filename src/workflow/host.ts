import type { AgentCommands } from "../platform/agent-commands.ts";
import type { SessionOptions } from "../session/index.ts";
import { lentSaved } from "./lent.ts";
import type { WorkflowPlaces } from "./saved.ts";

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
