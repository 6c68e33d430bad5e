import { messageOf } from "../../platform/errors.ts";
import { type AgentTool, READ_TOOLS } from "../agent-tools/index.ts";
import { failure } from "../failure.ts";
import type { SubCallError } from "../port.ts";

/** Tools of a sub-agent when the call names none (spec §4.3). */
const DEFAULT_TOOLS: readonly string[] = READ_TOOLS.map(({ name }) => name);

/**
 * Other names of tools: Pi's for the default ones, and those of the specification for what Pi
 * lends.
 */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ...READ_TOOLS.flatMap(({ name, aliases }) => aliases.map((alias): [string, string] => [alias, name])),
  ["shell", "bash"],
  ["write_file", "write"],
]);

/** The builtin that calls with tools are made with. */
const BUILTIN = "llm_query";

/** A call that asks for tools, and the rules beyond the default set (spec §6.3). */
interface ToolPolicy {
  readonly prompt: string;
  /** Tools that the host can lend. */
  readonly grantable: readonly Pick<AgentTool, "name">[];
  /** Names of those that may be asked for. */
  readonly allowed_tool_overrides: readonly string[];
  /** Ask `approve` as well. */
  readonly require_approval: boolean;
  readonly approve?: (request: {
    readonly builtin: string;
    readonly tools: readonly string[];
    readonly prompt: string;
  }) => Promise<boolean>;
}

/** One decision, by its wire names (spec §6.3). */
export type ToolOverrideEvent = {
  readonly builtin: string;
  readonly requested_tools: readonly string[];
  readonly granted_tools: readonly string[];
  readonly denied_tools: readonly string[];
  readonly reason: string;
};

/** `event` is null if nothing beyond the default set was asked for. */
type ToolDecision =
  | { readonly ok: true; readonly granted: readonly string[]; readonly event: ToolOverrideEvent | null }
  /** Nothing may be sent. */
  | { readonly ok: false; readonly error: SubCallError; readonly event: ToolOverrideEvent };

/**
 * Decides on the tools of a sub-call: undefined asks for the default set, `[]` for a plain
 * completion. Names come back as the tools' own, each once. Never rejects: an approval that fails
 * denies.
 */
export async function decideTools(requested: readonly string[] | undefined, policy: ToolPolicy): Promise<ToolDecision> {
  if (requested === undefined) return { ok: true, granted: DEFAULT_TOOLS, event: null };
  const asked = [...new Set(requested.map((name) => ownName(name, policy)))];
  const beyond = asked.filter((name) => !DEFAULT_TOOLS.includes(name));
  if (beyond.length === 0) return { ok: true, granted: asked, event: null };
  const refusals = new Map<string, string>();
  for (const name of beyond) {
    const reason = refusalOf(name, policy);
    if (reason !== undefined) refusals.set(name, reason);
  }
  // The user is not asked about a call that is refused anyway.
  const disapproval = refusals.size === 0 && policy.require_approval ? await disapprovalOf(beyond, policy) : undefined;
  if (disapproval !== undefined) for (const name of beyond) refusals.set(name, `${name} ${disapproval}`);
  return decision(requested, asked, refusals, policy);
}

/**
 * The name that a tool has with this host. A host may lend a tool that has an alias for its name.
 */
function ownName(name: string, { grantable }: Pick<ToolPolicy, "grantable">): string {
  return grantable.some((tool) => tool.name === name) ? name : (ALIASES.get(name) ?? name);
}

function decision(
  requested: readonly string[],
  asked: readonly string[],
  refusals: ReadonlyMap<string, string>,
  policy: ToolPolicy,
): ToolDecision {
  const granted = asked.filter((name) => !refusals.has(name));
  const denied = [...refusals.keys()];
  const allowed = policy.require_approval ? "allowed by policy and approved" : "allowed by policy";
  const reason = denied.length > 0 ? [...refusals.values()].join("; ") : allowed;
  const event: ToolOverrideEvent = {
    builtin: BUILTIN,
    requested_tools: requested,
    granted_tools: granted,
    denied_tools: denied,
    reason,
  };
  if (denied.length === 0) return { ok: true, granted, event };
  return { ok: false, error: errorFor(denied, reason, policy), event };
}

function isOurs(name: string): boolean {
  return /^(?:rlm_|llm_query)/i.test(name);
}

function refusalOf(name: string, policy: ToolPolicy): string | undefined {
  if (isOurs(name)) return `${name} would call a model or the runtime from within a sub-call`;
  if (!policy.grantable.some((tool) => tool.name === name)) return `${name} is not a tool that this host can lend`;
  const allowed = policy.allowed_tool_overrides.map((listed) => ownName(listed, policy));
  return allowed.includes(name) ? undefined : `${name} not in allowed_tool_overrides policy`;
}

async function disapprovalOf(tools: readonly string[], policy: ToolPolicy): Promise<string | undefined> {
  const { prompt, approve } = policy;
  if (approve === undefined) return "needs approval, and nobody can be asked";
  try {
    return (await approve({ builtin: BUILTIN, tools, prompt })) ? undefined : "was not approved";
  } catch (error) {
    return `was not approved: ${messageOf(error)}`;
  }
}

function errorFor(denied: readonly string[], reason: string, { grantable }: ToolPolicy): SubCallError {
  if (denied.some(isOurs)) return failure("reentrancy_error", `sub-agents cannot use rlm tools: ${reason}`);
  const suggestion = `Leave out tools (default: ${DEFAULT_TOOLS.join(", ")}). ${lendable(grantable)}`;
  return failure("policy_violation", `tools denied: ${reason}`, { suggestion });
}

function lendable(grantable: ToolPolicy["grantable"]): string {
  if (grantable.length === 0) return "This host lends no others.";
  return `This host can also lend ${grantable.map(({ name }) => name).join(", ")}, if the user's allowed_tool_overrides names them.`;
}
