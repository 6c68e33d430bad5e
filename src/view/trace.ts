import { gzipSync } from "node:zlib";
import * as v from "valibot";
import type { Json } from "../../runtime/index.ts";
import { redacted } from "../platform/redact.ts";
import {
  type CallDescription,
  type Citation,
  coverageLine,
  damagedIn,
  type ExecDescription,
  type SessionDescription,
  type WholeDescription,
} from "../session/index.ts";
import { inChunks, type Kept } from "./chunks.ts";
import { columnsOf } from "./columns.ts";
import {
  COLUMNS,
  EXEC_TEXTS,
  GRADES,
  type Head,
  KINDS,
  type Kind,
  type Texts,
  type TracedCitation,
  type TracedCoverage,
  type TracedExec,
  type TracedSession,
} from "./format.ts";

/** A session as the page takes it: the pages of its rows and the chunks of its texts are gzipped. */
export interface Trace {
  readonly head: Head;
  /** The numbers of each call, in the order of `COLUMNS`. */
  readonly rows: readonly (readonly (number | null)[])[];
  readonly pages: readonly Uint8Array[];
  readonly chunks: readonly Uint8Array[];
}

export interface Tracing {
  /** False: no prompt, answer, code, output, question, label, name or path is in the trace. */
  readonly texts: boolean;
  /** Bytes that the trace may take in a file. */
  readonly maxBytes: number;
  /** The build of Belay, and the time in ms since the epoch. */
  readonly belay: string;
  readonly now: number;
  /** The text around a citation of the session's own context; null if it cannot be read. */
  readonly around: (citation: Citation) => TracedCitation["around"];
  /** Parts of P that were looked at; null if they are not known. */
  readonly covered: WholeDescription["covered"];
}

/** The trace of a session as `describe()` tells it: a head, columns of numbers, and chunks of texts. */
export function traceOf(session: SessionDescription, tracing: Tracing): Trace {
  const words = openWords(tracing);
  const numbers = { models: openNames(), errors: openNames() };
  const execs: TracedExec[] = [];
  const rows: (number | null)[][] = [];
  const ofCalls: Kept[] = [];
  const ofExecs: Kept[] = [];
  const left_out: string[] = [];

  function follow(told: SessionDescription, depth: number, of: number | null): void {
    for (const exec of told.execs) {
      const from = rows.length;
      for (const call of exec.calls) {
        const texts = callTexts(exec, call).map(words.whole);
        rows.push(rowOf(exec, call, execs.length, texts, numbers));
        if (tracing.texts) ofCalls.push({ texts, error: call.status === "failed" ? 1 : null });
      }
      const at = { depth, of, from, to: rows.length, session: depth === 0 ? null : told.id };
      execs.push({ ...tracedExec(exec, words, depth === 0), ...at, text: tracing.texts ? ofExecs.length : null });
      if (tracing.texts) ofExecs.push({ texts: execTexts(exec).map(words.whole), error: EXEC_TEXTS.indexOf("error") });
      for (const [index, { child }] of exec.calls.entries()) {
        if (child?.description) follow(child.description, depth + 1, from + index);
        else if (child) left_out.push(child.session);
      }
    }
  }

  follow(session, 0, null);
  const { pages, counts } = columnsOf(rows);
  const placed = execs.map((exec) => (exec.text === null ? exec : { ...exec, text: exec.text + rows.length }));
  const told = { session: tracedSession(session, words, left_out), execs: placed };
  const fixed = [gzipSync(JSON.stringify(told)), ...pages].reduce((sum, { length }) => sum + inBase64(length), 0);
  const { chunks, ranges, cut } = inChunks([ofCalls, ofExecs], (tracing.maxBytes - fixed - PAGE_BYTES) / inBase64(1));
  const head: Head = {
    ...{ trace: 2, belay: tracing.belay, made_at: tracing.now, texts: wholeness(tracing.texts, cut + words.cut()) },
    ...{ cut_texts: cut + words.cut(), redacted: words.keys(), ...told },
    checkpoints: session.checkpoints.map(({ id, exec_id, kind, at }) => [id, exec_id, kind, at]),
    ...{ models: numbers.models.names, errors: numbers.errors.names, kinds: KINDS, columns: COLUMNS },
    ...{ calls: rows.length, pages: counts, chunks: ranges },
    coverage: tracing.covered && coverageIn(tracing.covered, words),
  };
  return { head, rows, pages, chunks };
}

/** The head with the numbers of each call as an object; null: none. */
export function figuresOf({ head, rows }: Trace): object {
  const calls = rows.map((row) => Object.fromEntries(COLUMNS.map((name, at) => [name, row[at]])));
  return { ...head, calls };
}

/** The script, the style and what is around the blocks take less. */
const PAGE_BYTES = 64 * 1024;
const inBase64 = (bytes: number) => (bytes * 4) / 3;

function wholeness(isAsked: boolean, cut: number): Head["texts"] {
  if (!isAsked) return "none";
  return cut > 0 ? "cut" : "all";
}

/** A longer text keeps its beginning and its end, UTF-16 units. */
const [BEGINNING, END] = [48 * 1024, 16 * 1024];
const LABEL = 120;

/** Texts as the trace may have them. Keys are replaced before a text is cut, so that no part of one is left. */
function openWords({ texts, around }: Pick<Tracing, "texts" | "around">) {
  let keys = 0;
  let cut = 0;

  function whole(text: string): string {
    if (!texts) return text;
    const clean = redacted(text);
    keys += clean === text ? 0 : stubsIn(clean) - stubsIn(text);
    if (clean.length <= BEGINNING + END) return clean;
    cut++;
    const left = clean.length - BEGINNING - END;
    return `${clean.slice(0, BEGINNING)}\n[… ${left} characters are left out …]\n${clean.slice(-END)}`;
  }

  function citation(cited: Citation, isOwn: boolean): TracedCitation | [] {
    const { doc, line, quote, valid } = cited;
    if (!texts || !valid) return [];
    const found = isOwn ? around(cited) : null;
    // Its offsets hold only while nothing in it is replaced.
    const place = found && redacted(found.text) === found.text ? found : null;
    return { doc: doc === null ? null : whole(doc), line, quote: whole(quote ?? ""), around: place };
  }

  const line = (text: string) => (texts ? redacted(text.slice(0, LONGEST_LINE)).slice(0, LABEL) : "");
  return { whole, citation, line, texts, keys: () => keys, cut: () => cut };
}

const LONGEST_LINE = 4096;

const stubsIn = (text: string) => text.split("[redacted: ").length - 1;

type Words = ReturnType<typeof openWords>;

/** Names by their numbers; the empty one is 0. */
function openNames() {
  const names = [""];
  const numbers = new Map([["", 0]]);
  function numberOf(name: string): number {
    const known = numbers.get(name);
    if (known !== undefined) return known;
    numbers.set(name, names.length);
    return names.push(name) - 1;
  }
  return { names, numberOf };
}

type Numbers = Readonly<Record<"models" | "errors", ReturnType<typeof openNames>>>;

/** The numbers of a call, in the order of `COLUMNS`. */
function rowOf(exec: ExecDescription, call: CallDescription, index: number, texts: Texts, of: Numbers) {
  const { asked_at, sent_at, ended_at, batch, model, error_code, attempts, resent } = call;
  const own = ownUsage(call);
  const nanos = Math.round(own.cost_usd * 1e9);
  const [prompt = "", answer = ""] = texts;
  const numbers: Readonly<Record<(typeof COLUMNS)[number], number | null>> = {
    ...{ exec: index, batch: batch ?? 0, asked: asked_at - exec.began_at },
    ...{ queue: sent_at === null ? null : sent_at - asked_at },
    ...{ run: ended_at === null ? null : ended_at - (sent_at ?? asked_at) },
    ...{ kind: KINDS.indexOf(kindOf(exec, call)), model: of.models.numberOf(model) },
    error: error_code === null ? 0 : of.errors.numberOf(error_code),
    ...{ input: own.input, output: own.output, cached_in: own.cache_read },
    cache_write: own.cache_write,
    ...{ micro: Math.floor(nanos / 1000), nano: nanos % 1000, tries: attempts, resent },
    ...{ plen: prompt.length, alen: answer.length },
  };
  return COLUMNS.map((column) => numbers[column]);
}

function kindOf({ resumes }: ExecDescription, { refused, cached, status, ended_at }: CallDescription): Kind {
  if (refused) return "refused";
  if (cached) return "cached";
  if (status === "pending") return "pending";
  if (status === "failed") return "lost";
  const resume = resumes.at(-1);
  return resume && ended_at !== null && ended_at <= resume.at - resume.gap_ms ? "kept" : "paid";
}

/** The usage of a call without that of the calls of its child, which stand in the trace themselves. */
function ownUsage({ usage, child }: CallDescription) {
  const below = (child?.description?.execs ?? []).flatMap(({ calls }) => calls.map((call) => call.usage));
  return below.reduce(
    (rest, one) => ({
      ...{ input: Math.max(0, rest.input - one.input), output: Math.max(0, rest.output - one.output) },
      cache_read: Math.max(0, rest.cache_read - one.cache_read),
      cache_write: Math.max(0, rest.cache_write - one.cache_write),
      cost_usd: Math.max(0, rest.cost_usd - one.cost_usd),
    }),
    usage,
  );
}

/** Its prompt and its answer. The request of a turn has what the turn added to the conversation. */
function callTexts({ turn }: ExecDescription, { prompt, args, answer, misfit }: CallDescription): Texts {
  const asked = turn ? turn.messages.join("\n\n") : textOf(prompt ?? [...args]);
  const told = textOf(answer);
  return [asked, misfit === null ? told : `${told}\n\nThe model's last answer:\n${misfit}`];
}

function execTexts({ source, stdout, stderr, result_json, error, ask, turn }: ExecDescription): Texts {
  const texts: Readonly<Record<(typeof EXEC_TEXTS)[number], string>> = {
    ...{ code: ask ? ask.question : textOf(source), output: stdout, errors: stderr, result: textOf(result_json) },
    ...{ error: error ?? "", answer: textOf(ask ? ask.answer : turn?.text) },
  };
  return EXEC_TEXTS.map((name) => texts[name]);
}

const firstLine = (text: string) => text.slice(0, LONGEST_LINE).trim().split("\n", 1).join();

/** A text of a value: texts as they are, other values as JSON. */
function textOf(value: Json | undefined): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 1);
}

function tracedExec(exec: ExecDescription, words: Words, isOwn: boolean) {
  const { exec_id, number, kind, parent, input, file, status, error_code, checkpoint_id, ask, turn, warnings } = exec;
  return {
    ...{
      id: exec_id,
      number,
      kind,
      parent,
      label: words.line(turn ? firstLine(turn.text) : input),
      status,
      error_code,
      checkpoint_id,
    },
    file: file === null || !words.texts ? null : words.line(file),
    ...{ began: exec.began_at, ended: exec.ended_at, ms: exec.time_ms, turn: turn?.number ?? null },
    resumes: exec.resumes.map(({ at, gap_ms, replayed, resent, failed }) => ({ at, gap_ms, replayed, resent, failed })),
    ask: ask && {
      answered_by: ask.answered_by,
      citations: citationsIn(ask.citations).flatMap((one) => words.citation(one, isOwn)),
    },
    warnings: words.texts ? warnings.map(words.line) : [],
  };
}

/** Citations as an ask records them. Another user may have written the store: what is no citation is left out. */
function citationsIn(told: readonly Json[]): Citation[] {
  return told.flatMap((one) => {
    const read = v.safeParse(CitationSchema, one);
    return read.success ? [read.output] : [];
  });
}

const count = v.nullable(v.number());
const text = v.nullable(v.string());
const CitationSchema = v.object({
  ...{
    valid: v.boolean(),
    doc: text,
    line: count,
    start: count,
    end: count,
    p_start: count,
    p_end: count,
    quote: text,
  },
});

function tracedSession(session: SessionDescription, words: Words, left_out: readonly string[]): TracedSession {
  const { id, name, status, settings, context, forked_from } = session;
  const damaged = damagedIn(session);
  const counted = damaged.length > 0 ? [`${damaged.length} parts cannot be read`] : [];
  return {
    ...{ id, name: words.texts ? name : null, status, budget_usd: budgetIn(settings), forked_from },
    context: context && { ...context, sources: words.texts ? context.sources.map(words.line) : [] },
    damaged: words.texts ? damaged.map(words.line) : counted,
    left_out,
  };
}

/** The dollars that a session may spend, by settings as the command, the library or Pi recorded them. */
function budgetIn(settings: Json): number | null {
  const read = v.safeParse(
    v.union([v.object({ settings: Budget }), v.pipe(Budget, v.transform(asSettings))]),
    settings,
  );
  return read.success ? read.output.settings.max_cost_usd : null;
}

const Budget = v.object({ max_cost_usd: v.number() });
const asSettings = <Value>(settings: Value) => ({ settings });

/** Equal stretches of P in the picture, and documents of a grade that are listed. */
const [STRETCHES, LISTED] = [600, 400];

function coverageIn(covered: NonNullable<Tracing["covered"]>, words: Words): TracedCoverage {
  const { totals, graded, reached, length } = covered;
  const documents = GRADES.map((_, grade) => {
    const all = graded.flatMap((document, at) => (document.grade === grade ? [{ ...document, at }] : []));
    const largest = all.toSorted((one, other) => other.chars - one.chars).slice(0, LISTED);
    const named = largest.map(
      ({ id, chars, at }) => [words.texts ? words.line(id) : `document ${at + 1}`, chars] as const,
    );
    return { count: all.length, largest: named };
  });
  return { told: coverageLine(totals), strip: reached.map((ranges) => sharesOf(ranges, length)), documents };
}

/** The percent of each stretch that lies in the ranges, which are in order. */
function sharesOf(ranges: readonly (readonly [number, number])[], length: number): number[] {
  const stretch = length / STRETCHES;
  const shares = Array.from({ length: STRETCHES }, () => 0);
  for (const [start, end] of ranges) {
    for (let at = Math.floor(start / stretch); at < STRETCHES && at * stretch < end; at++) {
      const inside = Math.min(end, (at + 1) * stretch) - Math.max(start, at * stretch);
      shares[at] = (shares[at] ?? 0) + (100 * inside) / stretch;
    }
  }
  return shares.map((share) => Math.min(100, Math.ceil(share)));
}
