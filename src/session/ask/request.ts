import { LIMITS, type Thinking } from "../../../runtime/index.ts";
import {
  type Asked,
  cutAnswer,
  loadSubCallLayer,
  type Model,
  type ModelMessage,
  type ModelTurn,
  type RequestParts,
  refusesTools,
  type Spent,
} from "../../models/index.ts";
import type { Protocol } from "./api.ts";
import { TOO_LONG, TOOLS_REFUSED } from "./next.ts";
import { UNREAD } from "./notes.ts";
import type { FailedTurn, Round } from "./records.ts";
import { CELL_TOOL, endOfFirstCell, type ReadBy, reading } from "./reply.ts";

/** A request to the root model. */
export interface TurnRequest extends ReadBy {
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  /** Output tokens, thinking included. */
  readonly max_tokens: number;
  readonly thinking: Thinking;
  /** Id of the ask, by which providers find their cache. */
  readonly conversation: string;
}

/** The reply of a root model, or why there is none. */
export interface TakenTurn extends Pick<Spent, "usage" | "attempts" | "sent_at" | "mended"> {
  readonly outcome: Round["outcome"];
}

/** A turn with its retries, ms. */
const TURN_MS = 300_000;

/** Asks the root model once, with the retries of a sub-call and within the budget. Never rejects. */
export async function takeTurn(
  request: TurnRequest,
  parts: RequestParts & { readonly model: Model },
  signal: AbortSignal,
): Promise<TakenTurn> {
  const { openRequests } = await loadSubCallLayer();
  const { system, messages, protocol } = request;
  const deadline = parts.clock.monotonic() + (parts.model.isLocal ? LIMITS.localCallTimeoutMs : TURN_MS);
  const requests = openRequests(parts.model, request, parts, { deadline, signal });
  const asked = await requests.ask(system, messages, protocol === "tools" ? [CELL_TOOL_SPEC] : []);
  const { usage, attempts, sent_at, mended } = requests.spent();
  const outcome: Round["outcome"] = asked.ok ? await usable(asked.turn, request) : failed(asked, protocol);
  return { outcome, usage, attempts, sent_at, mended };
}

/** Protocol `tools`: one tool. The closing turn keeps it, so that the conversation keeps its calls. */
const CELL_TOOL_SPEC = {
  name: CELL_TOOL,
  description: "Runs a JavaScript cell over P and shows its output.",
  parameters: {
    type: "object",
    properties: { code: { type: "string", description: "JavaScript; top-level await, variables persist" } },
    required: ["code"],
  },
} as const;

/** A reply that can be run: one that was cut holds half a cell. Only the first fenced block is kept. */
async function usable(given: ModelTurn, request: TurnRequest): Promise<Round["outcome"]> {
  if (given.stop === "length") {
    const { code, message } = cutAnswer(given, `${request.max_tokens} tokens`);
    return { ok: false, code, message };
  }
  const end = request.protocol === "fence" ? endOfFirstCell(given.text) : null;
  const reply = end === null ? given : (await loadSubCallLayer()).cutTurn(given, end);
  return { ok: true, reply: { ...reply, read: reading(reply, request) } };
}

function failed({ error, isTooLong, unread }: Extract<Asked, { ok: false }>, protocol: Protocol): FailedTurn {
  const { code, message, limit } = error;
  if (isTooLong) return { ok: false, code: TOO_LONG, message };
  if (unread !== undefined) return { ok: false, code: UNREAD, message };
  const isRefusal = protocol === "tools" && refusesTools(error);
  return { ok: false, code: isRefusal ? TOOLS_REFUSED : code, message, ...(limit === undefined ? {} : { limit }) };
}
