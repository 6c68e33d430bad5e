import type { SubCallRequest } from "../../../builtins/index.ts";
import { LIMITS, remedy, samplingIn, THINKING_TOKENS, type Thinking } from "../../../runtime/index.ts";
import {
  failure,
  knownModel,
  knownPrice,
  loadSubCallLayer,
  type Models,
  type SubCall,
  type SubCallError,
  type ToolOverrideEvent,
} from "../../models/index.ts";
import { type AgentCommands, agentModelName, KEEPER_MS } from "../../platform/agent-commands.ts";
import { withoutUndefined } from "../../platform/json.ts";
import type { SubAgentPolicy } from "../option-types.ts";
import { type Answered, FREE, refused } from "./port.ts";

/** A call that an agent is to answer. */
export type AgentRequest = SubCallRequest & { readonly agent: string };

/** A call that may be sent, and the decision on its tools. */
export interface PlannedCall {
  readonly call: SubCall;
  /** null: it asked for no other tools than the usual ones. */
  readonly event: ToolOverrideEvent | null;
}

export interface PlanOptions {
  readonly models: Models;
  /** Dollars are limited: models without a known price cannot be asked. */
  readonly limitsCost: boolean;
  readonly policy: SubAgentPolicy;
  readonly agents: AgentCommands;
}

/**
 * Decides on the tools of a sub-call. Returns its request, or the answer if it may not be sent at all.
 * @param usual the level of thinking of a call that names none
 */
export async function planSubCall(
  options: PlanOptions,
  request: SubCallRequest,
  usual: Thinking,
): Promise<Answered | PlannedCall> {
  if (request.agent !== undefined) return planAgent(options, { ...request, agent: request.agent }, usual);
  const { decideTools } = await loadSubCallLayer();
  const { policy } = options;
  const decision = await decideTools(request.tools, {
    prompt: request.prompt,
    grantable: policy.tools ?? [],
    allowed_tool_overrides: policy.allowed_tool_overrides ?? [],
    require_approval: policy.require_approval ?? true,
    ...(policy.approve ? { approve: policy.approve } : {}),
  });
  const { event } = decision;
  if (!decision.ok) return notSent(decision.error, event, plannedModel(request, options));
  const unpriced = unpricedCall(options, request, event);
  if (unpriced) return unpriced;
  const { thinking = usual } = request;
  const isLocal = knownModel(options.models, request.model ?? null)?.isLocal;
  const call: SubCall = {
    prompt: request.prompt,
    system: request.system ?? null,
    tools: decision.granted,
    schema: request.schema ?? null,
    or_text: request.or_text ?? false,
    max_tokens: request.max_tokens ?? LIMITS.subCallMaxTokens + THINKING_TOKENS[thinking],
    thinking,
    timeout_ms: request.timeout_ms ?? (isLocal ? LIMITS.localCallTimeoutMs : LIMITS.subCallTimeoutMs),
    model: request.model ?? null,
    ...withoutUndefined({ sampling: samplingIn(request) }),
  };
  return { call, event };
}

/** Decides on the call of an agent. It has tools of its own, and the time of its entry. */
function planAgent(
  { agents, limitsCost }: PlanOptions,
  { agent, prompt, schema, or_text = false, model, thinking, timeout_ms }: AgentRequest,
  usual: Thinking,
): Answered | PlannedCall {
  const command = Object.hasOwn(agents, agent) ? agents[agent] : undefined;
  const name = agentModelName(agent, model);
  if (!command) return notSent(failure("policy_violation", `the agent ${agent} is not lent here`), null, name);
  if (limitsCost && command.max_usd === undefined) {
    const suggestion = "Set max_usd in its entry of `agents`: the most that one may cost. Or limit tokens instead.";
    const message = `the price of the agent ${agent} is not known, so max_cost_usd cannot be kept`;
    return notSent(failure("policy_violation", message, { suggestion }), null, name);
  }
  const usualMs = (command.timeout_s ?? LIMITS.agentSeconds) * 1000;
  const call: SubCall = {
    prompt,
    system: null,
    tools: [],
    schema: schema ?? null,
    or_text,
    model: model ?? null,
    thinking: thinking ?? usual,
    max_tokens: LIMITS.subCallMaxTokens,
    timeout_ms: (timeout_ms ?? usualMs) + KEEPER_MS,
  };
  return { call, event: null };
}

/** The refusal of a call whose model has no known price, where dollars are limited; null: it may be made. */
export function unpricedCall(
  { models, limitsCost }: Pick<PlanOptions, "models" | "limitsCost">,
  request: { readonly model?: string | undefined },
  event: ToolOverrideEvent | null = null,
): Answered | null {
  // The request to an unknown model will fail and say so.
  if (!limitsCost || knownPrice(models, request.model ?? null) !== null) return null;
  return notSent(unpriced(request, models), event, plannedModel(request, { models }));
}

export function notSent(error: SubCallError, event: ToolOverrideEvent | null, model: string): Answered {
  return { ...refused(error), record: { ...FREE, model, refused: true, tool_override_event: event } };
}

/** The model that the call would have asked, `provider/id`. */
const plannedModel = ({ model }: { readonly model?: string | undefined }, { models }: Pick<PlanOptions, "models">) =>
  model ?? models.fallback ?? "";

const unpriced = ({ model }: { readonly model?: string | undefined }, { fallback }: Models): SubCallError =>
  failure("budget_exceeded", `the price of ${model ?? fallback} is not known, so max_cost_usd cannot be kept`, {
    suggestion: `Name a model with a known price, ${remedy("tellPrice")}, or leave max_cost_usd out.`,
  });
