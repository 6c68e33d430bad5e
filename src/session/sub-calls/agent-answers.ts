import { failure, type RequestBudget } from "../../models/index.ts";
import { agentModelName } from "../../platform/agent-commands.ts";
import { joinSignals } from "../../platform/signals.ts";
import type { CallingSession } from "../parts.ts";
import type { SuspensionReason } from "../suspension.ts";
import { CANCELLED, inTime } from "./call-time.ts";
import type { StandingClock } from "./patience.ts";
import { type AgentRequest, notSent } from "./plan.ts";
import { type Answered, type CallContext, refused } from "./port.ts";
import { waitsForUser } from "./wait-for-user.ts";

/** Asks an agent whose turn it is. */
type AskAgent = (
  asked: { readonly id: string; readonly request: AgentRequest },
  context: CallContext,
  signal: AbortSignal,
) => Promise<Answered>;

/**
 * Opens the answering of calls by agents. A call that needs the user first waits until its exec is suspended: one whose agent is not
 * lent here, and one that is in doubt.
 */
export function openAgentAnswers(session: CallingSession, ask: AskAgent) {
  const { agents, suspension } = session;

  /** The reason for which a call waits; null: it does not. Only what has begun elsewhere keeps no other call from its answer. */
  function troubleOf(id: string, { agent, model }: AgentRequest, { isAgain }: CallContext): SuspensionReason | null {
    const refusal = agents.refusal(agent);
    const why = { why: "trouble", model: agentModelName(agent, model) } as const;
    if (refusal) return refusal.isMissing ? { ...why, error: refusal.error } : null;
    const doubt = isAgain && waitsForUser(session) ? agents.doubt(id, agent) : null;
    return doubt && { ...why, error: doubt, isAlone: true };
  }

  return async (id: string, request: AgentRequest, context: CallContext): Promise<Answered> => {
    const { agent, prompt } = request;
    const model = agentModelName(agent, request.model);
    const trouble = troubleOf(id, request, context);
    if (trouble) {
      await suspension.wait(id, trouble, context.signal);
      return refused(CANCELLED);
    }
    const problem = agents.refusal(agent)?.error ?? (context.isAgain ? agents.doubt(id, agent) : null);
    if (problem) return notSent(problem, null, model);
    // One that an earlier process has begun was allowed then, and is paid for.
    const isBegun = context.isAgain && (await agents.isUnderWay(id));
    if (!isBegun && !(await agents.allows(agent, prompt))) {
      const suggestion = "Ask the session's model, or another agent.";
      const denial = failure("policy_violation", `the user did not allow the agent ${agent}`, { suggestion });
      return notSent(denial, null, model);
    }
    using stopped = joinSignals(context.signal, context.timeOver);
    const work = () => ask({ id, request }, context, stopped.signal);
    return inTime(await agents.inTurn(agent, stopped.signal, work), context);
  };
}

/** The budget of an agent's call: waiting for it takes nothing of the call's time. The start of the agent is recorded if need be. */
export function agentBudget(
  { agents }: Pick<CallingSession, "agents">,
  { budget, startsAgent, begun }: Pick<CallContext, "budget" | "startsAgent" | "begun">,
  time: Pick<StandingClock, "paused">,
): RequestBudget {
  let isRecorded = false;
  return {
    async reserve(estimate, signal) {
      const held = await time.paused(() => budget.reserve(estimate, signal));
      if (!("settle" in held)) return held;
      begun();
      const place = agents.place();
      if (place && !isRecorded) await startsAgent(place);
      isRecorded = true;
      return held;
    },
  };
}
