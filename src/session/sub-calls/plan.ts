import type { SubCallRequest } from "../../../builtins/index.ts";
import { type CallError, LIMITS, remedy, samplingIn, THINKING_TOKENS, type Thinking } from "../../../runtime/index.ts";
import {
  failure,
  knownModel,
  knownPrice,
  loadSubCallLayer,
  type Models,
  NO_USAGE,
  type SubCall,
  type SubCallError,
  type ToolOverrideEvent,
} from "../../models/index.ts";
import { given } from "../../platform/json.ts";
import type { ToolResult } from "../journal/records.ts";
import type { SubAgentPolicy } from "../option-types.ts";
import type { Answered } from "./port.ts";

export interface PlanOptions {
  readonly models: Models;
  /** Dollars are limited: models without a known price cannot be asked. */
  readonly limitsCost: boolean;
  readonly policy: SubAgentPolicy;
}

/**
 * Decides on the tools of a sub-call. Returns its request, or the answer if it may not be sent at all.
 * @param usual the level of thinking of a call that names none
 */
export async function planSubCall(
  options: PlanOptions,
  request: SubCallRequest,
  usual: Thinking,
): Promise<Answered | { readonly call: SubCall; readonly event: ToolOverrideEvent | null }> {
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
  if (!decision.ok) return notSent(decision.error, event, modelOf(request, options));
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
    ...given({ sampling: samplingIn(request) }),
  };
  return { call, event };
}

/** The refusal of a call whose model has no known price, where dollars are limited; null: it may be made. */
export function unpricedCall(
  { models, limitsCost }: Pick<PlanOptions, "models" | "limitsCost">,
  request: { readonly model?: string | undefined },
  event: ToolOverrideEvent | null = null,
): Answered | null {
  // The request to an unknown model will fail and say so.
  if (!limitsCost || knownPrice(models, request.model ?? null) !== null) return null;
  return notSent(unpriced(request, models), event, modelOf(request, { models }));
}

function notSent(error: SubCallError, event: ToolOverrideEvent | null, model: string): Answered {
  return { ...refused(error), record: { ...FREE, model, refused: true, tool_override_event: event } };
}

/** The model that the call would have asked, `provider/id`. */
const modelOf = ({ model }: { readonly model?: string | undefined }, { models }: Pick<PlanOptions, "models">) =>
  model ?? models.fallback ?? "";

/** The record of a call for which nothing was sent. */
export const FREE: Answered["record"] = {
  usage: NO_USAGE,
  attempts: [],
  model: "",
  refused: false,
  cached: false,
  tool_override_event: null,
};

export function refused(error: SubCallError): Answered {
  const record = { ...FREE, ...limitOf(error) };
  return { settlement: { ok: false, error: guestError(error) }, record, cacheKey: null };
}

/** The limit that a failure names, as the record of its call keeps it. */
export const limitOf = ({ limit }: Pick<SubCallError, "limit">): Pick<ToolResult, "limit_met"> =>
  limit === undefined ? {} : { limit_met: limit };

/** The error as the guest gets it: its class by its code. */
export function guestError({ code, message, suggestion, retriable }: SubCallError): CallError {
  return { name: CLASS_OF[code] ?? "SubAgentError", code, message, suggestion, retriable };
}

const CLASS_OF: Readonly<Partial<Record<SubCallError["code"], string>>> = {
  budget_exceeded: "BudgetExceededError",
  policy_violation: "PolicyViolationError",
  timeout: "SubCallTimeoutError",
  reentrancy_error: "ReentrancyError",
};

const unpriced = ({ model }: { readonly model?: string | undefined }, { fallback }: Models): SubCallError =>
  failure("budget_exceeded", `the price of ${model ?? fallback} is not known, so max_cost_usd cannot be kept`, {
    suggestion: `Name a model with a known price, ${remedy("tellPrice")}, or leave max_cost_usd out.`,
  });
