import type { CallError } from "../../../runtime/index.ts";
import { NO_USAGE, type SubCallError } from "../../models/index.ts";

import type { ToolResult } from "../journal/records.ts";
import type { Answered } from "./port.ts";

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
