import * as v from "valibot";
import type { Json } from "../../../runtime/index.ts";
import type { Complete, Start, ToolResult } from "./records.ts";

/** The question of an ask, and its answer. */
export interface AskDescription {
  readonly question: string;
  /** Its models, limits and protocol, which never change. */
  readonly settings: Json;
  /** null unless it was answered. */
  readonly answer: Json;
  readonly answered_by: "answer" | "text" | "closing" | null;
  /** Places of P that the answer rests on, as `ask()` gives them. */
  readonly citations: readonly Json[];
  /** Limits that it met, such as `sub_calls`. */
  readonly limits_met: readonly string[];
  readonly warnings: readonly string[];
}

/** A turn of an ask. Its whole reply is the answer of its call. */
export interface TurnDescription {
  /** From 1. A failed turn has the number of the turn that replaced it. */
  readonly number: number;
  /** True if the model had to answer in text, because no more code runs. */
  readonly closing: boolean;
  readonly protocol: "tools" | "fence" | null;
  /** The messages that it added to the conversation: the question, or the observations of the cells before. */
  readonly messages: readonly string[];
  /** The model's text; empty before its reply, and if it only asked for cells. */
  readonly text: string;
}

export function describeAsk(
  { input }: Pick<Start, "input">,
  complete: Pick<Complete, "answer" | "limits_met"> | null,
): AskDescription {
  const read = v.safeParse(WithSettings, input);
  const settings = read.success ? read.output.settings : null;
  const { value, ...how } = v.parse(Answered, complete?.answer) ?? NOT_ANSWERED;
  const limits_met = v.parse(Limits, complete?.limits_met);
  return { question: questionOf({ input }), settings, answer: value, limits_met, ...how };
}

/** The question of an ask, by its first record. */
export function questionOf({ input }: Pick<Start, "input">): string {
  return v.parse(Asked, input).question;
}

export function describeTurn({ input }: Pick<Start, "input">, result: Pick<ToolResult, "success" | "value"> | null) {
  const { turn, closing, protocol, messages } = v.parse(Turn, input);
  const { text } = v.parse(Reply, result?.success ? result.value : null);
  const added = messages.map((message) => message.text);
  return { number: turn, closing, protocol, messages: added, text } satisfies TurnDescription;
}

/** Any JSON value of a record. */
const json = v.custom<Json>((value) => value !== undefined);

/** Another user may have written the store: what cannot be read is told as nothing, and the rest all the same. */
const Asked = v.fallback(v.object({ question: v.string() }), { question: "" });
const WithSettings = v.object({ settings: json });

const Limits = v.fallback(v.array(v.string()), []);

const NOT_ANSWERED = { value: null, answered_by: null, citations: [], warnings: [] };

/** The answer of an ask, as its last record keeps it. */
export const AskAnswer = v.object({
  value: json,
  answered_by: v.picklist(["answer", "text", "closing"]),
  citations: v.array(json),
  warnings: v.array(v.string()),
});

const Answered = v.fallback(v.nullable(AskAnswer), null);

const Turn = v.fallback(
  v.object({
    turn: v.number(),
    closing: v.boolean(),
    protocol: v.nullable(v.picklist(["tools", "fence"])),
    messages: v.array(v.object({ text: v.string() })),
  }),
  { turn: 0, closing: false, protocol: null, messages: [] },
);

const Reply = v.fallback(v.object({ text: v.string() }), { text: "" });
