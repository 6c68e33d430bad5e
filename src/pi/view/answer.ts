import * as v from "valibot";
import { amount } from "../../platform/figures.ts";
import { isRecord, parseJson, withoutUndefined } from "../../platform/json.ts";

import { oneLine } from "./texts.ts";

/**
 * The end of a call as a row of the conversation shows it. Read from Pi's details, which another
 * version may have written.
 */
export interface Answer {
  readonly envelope: Envelope;
  readonly calls: Calls;
  /** Wall time, ms; `null` if it is not known. */
  readonly elapsed_ms: number | null;
  /** True if the call was interrupted, and finished later. */
  readonly recovered: boolean;
}

export type Envelope = Readonly<v.InferOutput<typeof EnvelopeSchema>>;
export type Calls = Readonly<v.InferOutput<typeof CallsSchema>>;

/** A tool's result as Pi has it, as far as it is looked at. */
export interface ShownResult {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly details?: unknown;
}

/** null if it is not one of our answers, for example Pi's own words for a call that it refused. */
export function readAnswer({ content, details }: ShownResult): Answer | null {
  const stored = v.parse(DetailsSchema, isRecord(details) ? details : {});
  // The text has more of it: details are kept small.
  const envelope = envelopeIn(textOf({ content })) ?? withText(stored.envelope, content);
  if (!envelope) return null;
  return {
    envelope,
    calls: stored.calls,
    elapsed_ms: envelope.execution_time_ms ?? stored.elapsed_ms,
    recovered: stored.recovered || (envelope.resumed ?? 0) > 0,
  };
}

/** The text of a result. */
export function textOf({ content }: Pick<ShownResult, "content">): string {
  return content.map(({ text = "" }) => text).join("\n");
}

/** Gives an envelope the whole text of its answer: details have only the first line. */
function withText(envelope: Envelope | null, content: ShownResult["content"]): Envelope | null {
  return envelope?.success && typeof envelope.text === "string" ? { ...envelope, text: textOf({ content }) } : envelope;
}

function envelopeIn(text: string): Envelope | null {
  const read = v.safeParse(EnvelopeSchema, parseJson(text));
  return read.success ? read.output : null;
}

const text = v.fallback(v.string(), "");
const count = v.fallback(v.number(), 0);
const maybeNumber = v.fallback(v.nullable(v.number()), null);

const BudgetSchema = v.object({
  remaining_tokens: count,
  remaining_sub_calls: count,
  remaining_time_ms: count,
  remaining_cost_usd: maybeNumber,
});

const CitationSchema = v.object({
  valid: v.fallback(v.boolean(), false),
  doc: v.fallback(v.nullable(v.string()), null),
  line: maybeNumber,
  place: v.fallback(v.nullable(v.string()), null),
  quote: text,
});

const SkippedSchema = v.object({
  unread: count,
  files: v.fallback(v.array(v.object({ path: text, reason: text })), []),
});

const EnvelopeSchema = v.looseObject({
  success: v.boolean(),
  error_code: text,
  error_message: text,
  suggestion: text,
  traceback: text,
  stdout: text,
  stderr: text,
  warnings: v.fallback(v.array(v.string()), []),
  execution_time_ms: maybeNumber,
  resumed: maybeNumber,
  /** Facts of an ask: its turns, its cells, the places of its answer in P, and its usage. */
  turns: maybeNumber,
  /** Facts of a batch: texts that were read. */
  answered: maybeNumber,
  cells: maybeNumber,
  citations: v.fallback(v.array(CitationSchema), []),
  /** Files of the load that an ask or a query could not rest on. */
  skipped: v.fallback(v.nullable(SkippedSchema), null),
  usage: v.fallback(v.nullable(v.object({ input: count, output: count, cost_usd: count })), null),
  budget: v.fallback(v.nullable(BudgetSchema), null),
});

const CallsSchema = v.object({
  count,
  failed: count,
  tokens: count,
  /** USD by price lists. */
  cost_usd: count,
  items: v.fallback(
    v.array(
      v.object({
        prompt: text,
        /** null: it got no answer. */
        success: v.fallback(v.nullable(v.boolean()), null),
        tokens: count,
        cost_usd: count,
        cached: v.fallback(v.boolean(), false),
      }),
    ),
    [],
  ),
});

/** Each part has its own fallback, so that a part that is missing leaves the others. */
const DetailsSchema = v.object({
  envelope: v.fallback(v.nullable(EnvelopeSchema), null),
  calls: v.fallback(CallsSchema, () => v.parse(CallsSchema, {})),
  elapsed_ms: maybeNumber,
  recovered: v.fallback(v.boolean(), false),
});

const maybeText = v.fallback(v.optional(v.string()), undefined);

/**
 * Arguments of any of our tools, as far as a row shows them. While the model writes them they are
 * there in part.
 */
const ArgumentsSchema = v.fallback(
  v.object({
    code: maybeText,
    script: maybeText,
    prompt: maybeText,
    question: maybeText,
    instructions: maybeText,
    target: v.fallback(v.optional(v.union([v.string(), v.array(v.unknown())])), undefined),
    targets: v.fallback(v.optional(v.array(v.unknown())), undefined),
    path: maybeText,
    paths: v.fallback(v.optional(v.array(v.fallback(v.string(), ""))), undefined),
    name: maybeText,
    key: maybeText,
    value: v.optional(v.unknown()),
    ops: v.fallback(v.optional(v.array(v.unknown())), undefined),
  }),
  {},
);

export interface ShownArguments {
  readonly prompt?: string | undefined;
  readonly path?: string | undefined;
  readonly code?: string | undefined;
  readonly target?: string | unknown[] | undefined;
  readonly targets?: unknown[] | undefined;
  readonly name?: string | undefined;
  readonly key?: string | undefined;
  readonly value?: unknown;
  readonly ops?: unknown[] | undefined;
}

export function readArguments(args: unknown): ShownArguments {
  const { question, instructions, paths, script, ...given } = v.parse(ArgumentsSchema, args);
  const others = script === undefined ? given : { ...given, ...workflowOf(script) };
  const prompt = others.prompt ?? question ?? instructions;
  const path = others.path ?? paths?.join(", ");
  return { ...others, ...withoutUndefined({ prompt, path }) };
}

/** A workflow's script is its code; it names itself in its head. */
function workflowOf(script: string): Pick<ShownArguments, "code" | "name"> {
  const [, name] = /\bname:\s*["'`]([^"'`\n]{1,60})/.exec(script.slice(0, HEAD_UNITS)) ?? [];
  return { code: script, ...withoutUndefined({ name }) };
}

const HEAD_UNITS = 2_000;

/**
 * The subject of a call, after its tool's name: `12 lines`, `docs`, `“question”`. @param cwd folder
 * of the project
 */
export function subject(shown: ShownArguments, cwd: string): string[] {
  const { code, prompt, path, name, key, ops, target, targets } = shown;
  const place = path?.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path;
  return [
    ...[place, name, key, target].flatMap((text) => (typeof text === "string" ? oneLine(text, 60) : [])),
    ...(Array.isArray(target) ? [amount(target.length, "object")] : []),
    ...(targets === undefined ? [] : [amount(targets.length, "object")]),
    ...(prompt === undefined ? [] : [`“${oneLine(prompt, 60)}”`]),
    ...(code === undefined ? [] : [amount(code.trimEnd().split("\n").length, "line")]),
    ...(ops === undefined ? [] : [amount(ops.length, "operation")]),
  ];
}
