import * as v from "valibot";
import { type GivenAnswer, type Json, THINKING } from "../../../runtime/index.ts";
import type { ModelMessage, ModelTurn } from "../../model/index.ts";

/** Any JSON value of a record. */
export const json = v.custom<Json>((value) => value !== undefined);

/** The way in which a root model runs cells: by calls of a tool, or in fenced blocks of its text. */
export type Protocol = "tools" | "fence";

/** The settings of an ask. They never change within the ask, whatever process continues it. */
export const AskSettings = v.object({
  /** The root model, `provider/id`: a name, and no grant of a key or a server. */
  model: v.string(),
  /** The model of plain sub-calls, `provider/id`. */
  sub_model: v.string(),
  /** `auto`: tools, and fenced blocks once the provider has refused tools. */
  protocol: v.picklist(["auto", "tools", "fence"]),
  max_turns: v.number(),
  /** Output tokens of a turn, thinking included. */
  turn_tokens: v.number(),
  /** The level of thinking of its turns, and of calls of its cells that name none. */
  thinking: v.optional(v.picklist(THINKING), "off"),
  /** 0 for an ask of a caller; a child is one deeper than its parent. */
  depth: v.number(),
  /** The depth that children may have. */
  max_depth: v.number(),
  /** JSON Schema that the answer fits, or null. */
  schema: json,
  /** Characters of the conversation beyond which observations of the oldest turns are left out. */
  history_chars: v.number(),
  /** Version of the prompt's text. */
  prompt: v.literal(1),
});

export type AskSettings = Readonly<v.InferOutput<typeof AskSettings>>;

/** A turn of the root model and the cells that its reply asked for, as far as they have run. */
export interface Round {
  /** 1 for the first. A turn that the provider failed has the number of the one that takes its place. */
  readonly turn: number;
  /** The model was told to answer in text: its tool calls are not run. */
  readonly closing: boolean;
  readonly protocol: Protocol;
  /** The messages that the turn adds to the conversation, as they were sent. */
  readonly messages: readonly ModelMessage[];
  /** Turns whose observations are left out of the request. */
  readonly elide: readonly number[];
  readonly outcome: { readonly ok: true; readonly reply: ModelTurn } | FailedTurn;
  readonly cells: readonly RanCell[];
}

export interface FailedTurn {
  readonly ok: false;
  readonly code: string;
  readonly message: string;
}

export interface RanCell {
  readonly source: string;
  readonly success: boolean;
  /** Why the store had no space for its state; null if it had. */
  readonly full: string | null;
  /** The model's observation of it. */
  readonly observation: string;
  /** The value that the cell gave to `answer`, if it succeeded. */
  readonly answer: GivenAnswer | null;
}
