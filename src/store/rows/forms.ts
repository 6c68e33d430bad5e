import type { Json } from "../../../runtime/index.ts";
import { isRecord, parseJson } from "../../platform/json.ts";
import { type Room, USUAL_BOUNDS, unpackText } from "./pack.ts";
import { isInstant, type Row } from "./row.ts";

/**
 * The form of a JSON value. `json` is a text that is JSON itself. A list has the form of its items,
 * and an object those of the fields that are read; a field whose name ends with a question mark may
 * be null or absent.
 */
type Form = "any" | "text" | "json" | "flag" | "number" | "count" | "instant" | RegExp | readonly [Form] | Fields;
interface Fields {
  readonly [field: string]: Form;
}

/**
 * True if a value that was read from a row is what its readers take it for: a checksum does not say
 * so.
 */
function fits(value: unknown, form: Form): boolean {
  if (form === "any") return true;
  if (form === "flag") return typeof value === "boolean";
  if (form === "number") return Number.isFinite(value);
  if (form === "count") return typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
  if (form === "instant") return isInstant(value);
  if (form === "json") return typeof value === "string" && parseJson(value) !== undefined;
  if (form === "text" || form instanceof RegExp)
    return typeof value === "string" && (form === "text" || form.test(value));
  if (isList(form)) return Array.isArray(value) && value.every((one) => fits(one, form[0]));
  if (!isRecord(value)) return false;
  return Object.entries(form).every(([field, of]) => {
    const isOptional = field.endsWith("?");
    const own = value[isOptional ? field.slice(0, -1) : field];
    return own === undefined || own === null ? isOptional || of === "any" : fits(own, of);
  });
}

const isList = (form: readonly [Form] | Fields): form is readonly [Form] => Array.isArray(form);

/** A column of JSON. The seal of its row is over the text. */
interface JsonColumn {
  readonly text: string;
  readonly value: Json;
}

/**
 * The column of a row; null if it is damaged, not within the bounds, not JSON, or not of this form.
 */
export function jsonIn(
  row: Row,
  column: string,
  form: Form = "any",
  bounds = USUAL_BOUNDS,
  room?: Room,
): JsonColumn | null {
  const text = unpackText(row, column, bounds, room);
  const value = text === null ? undefined : parseJson(text);
  return text !== null && value !== undefined && fits(value, form) ? { text, value } : null;
}

const KIND = /^(?:cell|query|load|append|helpers|memory|ask|turn)$/;
const USAGE: Form = {
  input: "count",
  output: "count",
  cache_read: "count",
  cache_write: "count",
  cost_usd: "count",
  "saved_usd?": "number",
  "estimated?": "count",
  "estimated_usd?": "count",
};
const SPENT: Form = { sub_calls: "count", tokens: "count", cost_usd: "count", time_ms: "count" };
const EXEC_LIMITS: Form = {
  "max_output_bytes?": "count",
  "max_execution_ms?": "count",
  "max_find_results?": "count",
  "max_result_bytes?": "count",
};
const CALL_KEY: Form = { key: "text", sum: "text" };
const EVENT: Form = {
  builtin: "text",
  requested_tools: ["text"],
  granted_tools: ["text"],
  denied_tools: ["text"],
  reason: "text",
};
const STATE: Form = {
  exec_id: "text",
  cell: "count",
  limits: EXEC_LIMITS,
  warnings: ["text"],
  output: { stdout: "text", stderr: "text", bytes: "count" },
  running_ms: "count",
  next_call: "count",
};
const ERROR: Form = { name: "text", message: "text", "line?": "number", "column?": "number", traceback: "text" };
const END: Form = {
  kind: /^(?:ok|error|timeout|cancelled)$/,
  "result?": "json",
  "meta?": "json",
  "code?": "text",
  "error?": ERROR,
  "suggestion?": "text",
};
const CHILD: Form = {
  session: "text",
  sub_calls: "count",
  turns: "count",
  depth_reached: "count",
  "limits_met?": ["text"],
};
const TURN: Form = {
  at: "instant",
  ms: "number",
  input: "count",
  output: "count",
  cost_usd: "count",
  tools: ["text"],
};
const COVERAGE: Form = {
  context_hash: "text",
  "ranges?": { shown: "text", found: "text", ranked: "text", given: "text", printed: "text" },
};

/** Fields of all records of the journal. */
const OF_RECORDS: Fields = { exec_id: "text", at: "instant" };

/** The others, by the kinds of records. */
const FORMS: Readonly<Record<string, Fields>> = {
  rlm_start: {
    kind: KIND,
    "cell?": "text",
    "name?": "text",
    limits: EXEC_LIMITS,
    "ask?": "text",
    "call?": CALL_KEY,
    "question?": { id: "text", "budget?": {} },
    rest: [{ name: "text", source: "text" }],
    "helpers_hash?": "text",
    "history_hash?": "text",
    "workflow?": "any",
    "again?": { exec_id: "text", answers: [{ call_id: "text", value: "any" }] },
  },
  rlm_resume: {
    "checkpoint_id?": "text",
    replayed: "count",
    resent: ["text"],
    failed: ["text"],
    "call?": CALL_KEY,
  },
  rlm_suspend: {
    still_running: ["text"],
    waited_ms: "number",
    "waits_for?": { code: "text", message: "text", suggestion: "text", "retry_at?": "instant" },
  },
  rlm_tool_call: {
    call_id: "text",
    "checkpoint_id?": "text",
    name: "text",
    args: ["any"],
    args_hash: "text",
    "counts?": "count",
    "thinking?": "text",
    "sampling?": { "temperature?": "number", "top_p?": "number", "seed?": "number", "stop?": ["text"] },
    "effects?": "text",
    call_count: "count",
    output_bytes: "count",
  },
  rlm_run: { call_id: "text", "agent?": { host: "text", outbox: "text" } },
  rlm_tool_result: {
    "worktrees?": ["text"],
    "by_hand?": "flag",
    call_id: "text",
    name: "text",
    success: "flag",
    usage: USAGE,
    "child?": CHILD,
    attempts: [{ code: "text", waited_ms: "number" }],
    model: "text",
    refused: "flag",
    cached: "flag",
    "reused?": { from: "text", tokens: "count", cost_usd: "count" },
    "limit_met?": "text",
    "tool_override_event?": EVENT,
    "as_text?": ["text"],
    "sent_at?": "instant",
    "turns?": [TURN],
    "delivery?": { batch: "text", waited_ms: "number" },
    "misfit?": "text",
    "ignored?": ["text"],
    "mended?": ["text"],
    elapsed_ms: "number",
  },
  rlm_complete: {
    kind: KIND,
    success: "flag",
    "error_code?": "text",
    "error_message?": "text",
    "end?": END,
    "state?": STATE,
    events: [EVENT],
    call_count: "count",
    time_ms: "count",
    resumed: "count",
    replayed_sub_calls: "count",
    "checkpoint_id?": "text",
    "helpers_hash?": "text",
    "context_hash?": "text",
    "context_key?": "text",
    "coverage?": COVERAGE,
    "limits_met?": ["text"],
    "ended_by?": { code: "text", message: "text" },
  },
};
export const RECORDS: ReadonlyMap<string, Fields> = new Map(
  Object.entries(FORMS).map(([kind, own]) => [kind, { ...OF_RECORDS, ...own }]),
);

/** Forms of what a checkpoint keeps beside its image, by its kind. */
export const EXTRAS: Readonly<Record<string, Form>> = {
  step: { state: STATE, "waiting?": ["text"], "elapsed_ms?": "number" },
  end: {
    "memory?": {},
    "helpers?": [{ name: "text", code: "text" }],
    "context_hash?": "text",
    "ledger?": SPENT,
    "cells?": "count",
  },
  baseline: "any",
};

const PLACE: Form = { name: "text", id: "text", encoding: /^(?:latin1|utf16le)$/, address: "count", bytes: "count" };

export const IMAGE_META: Form = {
  gate: { format: "number", wasm: "text", bridge: "number" },
  prelude: "text",
  linearBytes: "count",
  granted: "count",
  texts: [PLACE],
  stackPointer: "count",
  runtimePtr: "count",
  contextPtr: "count",
  entries: {},
};

const SKIPPED: Form = { count: "count", unread: "count", files: [{ path: "text", reason: "text" }], reasons: {} };
const ROUTE: Form = { label: "text", path: "text", description: "text", source: "text" };
const DOCUMENT: Form = {
  id: "text",
  path: "text",
  start: "count",
  end: "count",
  size: "count",
  "replaced_by?": "text",
  "original?": { sha256: "text", bytes: "count", kind: "text", reader: "text" },
  "places?": [["any"]],
  "lost?": [{ kind: "text", count: "count", where: ["any"] }],
};

/** Facts of a context. */
export const CONTEXT_INDEX: Fields = {
  documents: [DOCUMENT],
  routes: [ROUTE],
  skips: [{ source: "text", base: "text", stats: SKIPPED }],
  stats: { length_chars: "count", sources: ["text"], context_hash: "text" },
};

/** Facts of a large context, whose documents are in its table. */
export const LARGE_INDEX: Form = { ...CONTEXT_INDEX, documents: /^[0-9a-f]{64}$/ };
