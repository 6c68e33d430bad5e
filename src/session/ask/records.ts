import * as v from "valibot";
import { type Json, RlmError } from "../../../runtime/index.ts";
import type { ModelMessage, ModelTurn } from "../../model/index.ts";
import { remembered } from "../../platform/remembered.ts";
import type { SessionState } from "../exec/session-state.ts";
import type { AskRecords } from "../journal/account.ts";
import { envelopeOfCell } from "../journal/envelope.ts";
import type { ExecRecords } from "../journal/exec-records.ts";
import type { Start } from "../journal/records.ts";
import { observationOf } from "./observe.ts";
import { AskSettings, json, type RanCell, type Round } from "./rounds.ts";

/** The input of a turn, as its first record keeps it. */
export type TurnInput = Pick<Round, "turn" | "closing" | "protocol" | "messages" | "elide">;

const use = v.object({ id: v.string(), name: v.string() });

/** The input of an ask, as its first record keeps it. */
const AskInput = v.object({
  question: v.string(),
  system: v.string(),
  /** The names of its models, signed by the user who has begun it. */
  signed: v.optional(json),
  settings: AskSettings,
});

export type AskInput = Readonly<v.InferOutput<typeof AskInput>>;

const TurnInputSchema = v.object({
  turn: v.number(),
  closing: v.boolean(),
  protocol: v.picklist(["tools", "fence"]),
  messages: v.array(
    v.variant("role", [
      v.object({ role: v.literal("user"), text: v.string() }),
      v.object({ role: v.literal("tool"), use, text: v.string(), isError: v.boolean() }),
    ]),
  ),
  elide: v.array(v.number()),
});

const ReplySchema = v.object({
  text: v.string(),
  toolUses: v.array(v.object({ ...use.entries, arguments: v.record(v.string(), json) })),
  stop: v.picklist(["end", "tools", "length"]),
  raw: v.unknown(),
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

const inputOf = remembered(({ input }: Start): AskInput => parsed(AskInput, input, "start of an ask"));

/** The input of a turn. @throws RlmError `store_corrupt` for a record that no build has written */
export function readTurn(input: Json): TurnInput {
  return parsed(TurnInputSchema, input, "start of a turn");
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

const roundOf = remembered(({ start, results, complete }: ExecRecords): Omit<Round, "cells"> => {
  const input = readTurn(start.input);
  const [result] = results;
  if (result?.success) return { ...input, outcome: { ok: true, reply: replyOf(result.value) } };
  const { error_code, error_message } = complete ?? {};
  return { ...input, outcome: { ok: false, code: error_code ?? "cancelled", message: error_message ?? "" } };
});

const replyOf = (value: Json): ModelTurn => parsed(ReplySchema, value, "reply of a turn");

const cellOf = remembered(({ start, complete }: ExecRecords): RanCell => {
  const envelope = complete && envelopeOfCell(complete);
  return {
    source: start.cell ?? "",
    success: complete?.success === true,
    full: complete?.error_code === "store_full" && complete.end?.kind === "error" ? complete.end.error.message : null,
    observation: envelope ? observationOf(envelope) : "[error cancelled]\nthe cell was given up",
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

/** The JSON of a turn's first record. */
export function turnInput({ turn, closing, protocol, messages, elide }: TurnInput): Json {
  return { turn, closing, protocol, elide, messages: messages.map(plain) };
}

function plain(message: ModelMessage): Json {
  if (message.role === "assistant") throw new Error("a turn adds no replies");
  return message.role === "user" ? { ...message } : { ...message, use: { ...message.use } };
}
