import type { Json } from "../../runtime/index.ts";
import { jsonOf } from "../platform/json.ts";
import type { AskEnvelope } from "../session/index.ts";
import { checkContext, defineTool, type ToolEnvelope } from "./define.ts";

/** The fields of a failure in place of each field of a success. */
const NOT_ANSWERED = {
  session_id: null,
  ask_id: null,
  question: null,
  answer: null,
  answered_by: null,
  citations: [],
  turns: 0,
  cells: 0,
  sub_calls: 0,
  children: 0,
  depth_reached: 0,
  usage: null,
  limits_met: [],
  warnings: [],
  execution_time_ms: 0,
  budget: null,
  coverage: null,
  skipped: null,
  resumed: 0,
  replayed_turns: 0,
} satisfies Readonly<Record<AnswerField, Json>>;

type AnswerField = Exclude<keyof Extract<AskEnvelope, { success: true }>, "success" | "trajectory">;

export const rlm_ask = defineTool({
  name: "rlm_ask",
  label: "RLM ask",
  description:
    "Have a question about P answered by another model, which explores P with cells of its own, turn by turn, and cites places of P. Costs a request a turn; variables of its cells stay. What a cell or two can find is cheaper in rlm_exec.",
  promptSnippet: "Have a hard question about context P explored and answered",
  parameters: {
    type: "object",
    required: ["question"],
    properties: {
      question: { type: "string", description: "The other model sees P, not this conversation" },
      max_turns: { type: "integer", minimum: 1, maximum: 100, default: 20 },
    },
  },
  rest: "Ask for a shorter answer.",
  async run(session, { question, max_turns }, { signal, suspend, rootModel }) {
    checkContext(session);
    const open = session.unfinished();
    if (open?.kind === "ask" && open.input === question) {
      const resumed = await session.resume({ signal, suspend });
      if (resumed?.kind === "ask") return askAnswer(resumed.envelope);
    }
    return askAnswer(await session.ask(question, { maxTurns: max_turns, model: rootModel, signal, suspend }));
  },
  failureFields: NOT_ANSWERED,
});

/**
 * The answer of an ask as a tool gives it. What its turns said stays in the session: it would fill
 * the conversation.
 */
export function askAnswer({ trajectory: _kept, ...answer }: AskEnvelope): ToolEnvelope {
  const { success } = answer;
  const open = !answer.success && answer.resumable ? { suggestion: `${answer.suggestion} ${RESUMED_BY}` } : {};
  return { success, ...jsonOf({ ...NOT_ANSWERED, ...answer, ...open }) };
}

const RESUMED_BY = "rlm_ask with the same question goes on where it stopped.";
