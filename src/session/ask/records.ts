import * as v from "valibot";
import { type GivenAnswer, type Json, RlmError, THINKING } from "../../../runtime/index.ts";
import type { BudgetLimit } from "../../models/index.ts";
import { memoize } from "../../platform/memoize.ts";
import type { AskRecords, SessionState } from "../journal/account.ts";
import { cellIn, type EnvelopeFacts, envelope } from "../journal/envelope.ts";
import type { ExecRecords } from "../journal/exec-records.ts";
import { ASK_LIMITS } from "../journal/exec-warnings.ts";
import type { Start } from "../journal/records.ts";
import { observationOf } from "./observe.ts";
import type { RecordedReply } from "./reply.ts";

/** Any JSON value of a record. */
const json = v.custom<Json>((value) => value !== undefined);

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
  thinking: v.picklist(THINKING),
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

/** The input of an ask, as its first record keeps it. */
const AskInput = v.object({
  question: v.string(),
  system: v.string(),
  /** The names of its models, signed by the user who has begun it. */
  signed: v.optional(json),
  settings: AskSettings,
});

export type AskInput = Readonly<v.InferOutput<typeof AskInput>>;

const use = v.object({ id: v.string(), name: v.string() });

/** The input of a turn, as its first record keeps it. */
const TurnInput = v.object({
  /** 1 for the first. A turn that the provider failed has the number of the one that takes its place. */
  turn: v.number(),
  /** The model was told to answer in text: its tool calls are not run. */
  closing: v.boolean(),
  protocol: v.picklist(["tools", "fence"]),
  /** The messages that the turn adds to the conversation, as they were sent. */
  messages: v.pipe(
    v.array(
      v.variant("role", [
        v.object({ role: v.literal("user"), text: v.string() }),
        v.object({ role: v.literal("tool"), use, text: v.string(), isError: v.boolean() }),
      ]),
    ),
    v.readonly(),
  ),
  /** Turns whose observations are left out of the request. */
  elide: v.pipe(v.array(v.number()), v.readonly()),
  /** The limits by which it is the closing one. Absent: there is another reason, or it is not. */
  limits: v.exactOptional(v.pipe(v.array(v.picklist(ASK_LIMITS)), v.readonly())),
});

export type TurnInput = Readonly<v.InferOutput<typeof TurnInput>>;

/** A message that a turn adds to the conversation. */
export type AddedMessage = TurnInput["messages"][number];

/** A turn of the root model and the cells that its reply asked for, as far as they have run. */
export interface Round extends TurnInput {
  readonly outcome: { readonly ok: true; readonly reply: RecordedReply } | FailedTurn;
  readonly cells: readonly RanCell[];
}

export interface FailedTurn {
  readonly ok: false;
  readonly code: string;
  readonly message: string;
  /** The limit of the budget that had no room for it. */
  readonly limit?: BudgetLimit;
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

const asked = v.variant("ok", [
  v.object({ ok: v.literal(true), source: v.string() }),
  v.object({ ok: v.literal(false), problem: v.string() }),
]);

/** The reading of a reply, as its record has it. */
const ReadSchema = v.object({
  text: v.string(),
  cells: v.array(v.object({ use: v.nullable(use), asked })),
  doubt: v.nullable(v.object({ kind: v.picklist(["block", "call", "code", "step"]), detail: v.string() })),
  isInText: v.optional(v.boolean()),
});

const ReplySchema = v.object({
  text: v.string(),
  toolUses: v.array(
    v.object({
      ...use.entries,
      arguments: v.record(v.string(), json),
      problem: v.exactOptional(v.string()),
    }),
  ),
  stop: v.picklist(["end", "tools", "length"]),
  raw: v.unknown(),
  read: ReadSchema,
});

/** The session's newest ask. */
export function askIn({ account: { ask } }: SessionState): AskRecords {
  if (!ask) throw new Error("the session has no ask");
  return ask;
}

/** @throws RlmError `store_corrupt` for records that no build has written */
export function readAsk({ start }: AskRecords): AskInput {
  return inputOf(start);
}

const inputOf = memoize(({ input }: Start): AskInput => parsed(AskInput, input, "start of an ask"));

/** The input of a turn. @throws RlmError `store_corrupt` for a record that no build has written */
export function readTurn(input: Json): TurnInput {
  return parsed(TurnInput, input, "start of a turn");
}

/** The rounds of an ask: each turn with the cells that follow it. Its time hardly grows with turns that were read before. */
export function roundsOf({ execs }: AskRecords): readonly Round[] {
  const rounds: (Round & { readonly cells: RanCell[] })[] = [];
  for (const exec of execs) {
    if (exec.start.kind === "turn") rounds.push({ ...roundOf(exec), cells: [] });
    else rounds.at(-1)?.cells.push(cellOf(exec));
  }
  return rounds;
}

const roundOf = memoize(({ start, results, complete }: ExecRecords): Omit<Round, "cells"> => {
  const input = readTurn(start.input);
  const [result] = results;
  if (result?.success) return { ...input, outcome: { ok: true, reply: replyOf(result.value) } };
  const { error_code, error_message } = complete ?? {};
  return { ...input, outcome: { ok: false, code: error_code ?? "cancelled", message: error_message ?? "" } };
});

const replyOf = (value: Json): RecordedReply => parsed(ReplySchema, value, "reply of a turn");

/** Facts of no session, for an envelope of which only a record's own part is read. */
const NO_FACTS: EnvelopeFacts = {
  session_id: "",
  budget: { remaining_tokens: 0, remaining_sub_calls: 0, remaining_time_ms: 0 },
  unfinished: false,
};

const cellOf = memoize(({ start, complete }: ExecRecords): RanCell => {
  const cell = complete && cellIn(complete);
  return {
    source: start.cell ?? "",
    success: complete?.success === true,
    full: complete?.error_code === "store_full" && complete.end?.kind === "error" ? complete.end.error.message : null,
    observation: cell ? observationOf(envelope(cell, NO_FACTS)) : "[error cancelled]\nthe cell was given up",
    answer: (complete?.success && complete.state?.answer) || null,
  };
});

function parsed<Schema extends v.GenericSchema>(schema: Schema, value: Json, what: string): v.InferOutput<Schema> {
  const { success, output } = v.safeParse(schema, value);
  if (success) return output;
  throw new RlmError("store_corrupt", `the ${what} cannot be read`, {
    suggestion: "Discard the ask, and ask again.",
  });
}
