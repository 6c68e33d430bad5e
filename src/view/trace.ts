import * as v from "valibot";
import type { Json } from "../../runtime/index.ts";
import { isUnread, type ToldSkips } from "../context/index.ts";
import {
  type CallDescription,
  damagedIn,
  type ExecDescription,
  type SessionDescription,
  type WalkedSession,
  type WholeDescription,
  walk,
} from "../history/index.ts";
import { amount } from "../platform/figures.ts";
import { isRecord } from "../platform/json.ts";
import type { Citation } from "../session/index.ts";
import {
  coverageLine,
  coverageSentence,
  limitName,
  partsOfWarning,
  type WarningCures,
  warningSentence,
} from "../session/index.ts";
import type {
  Row,
  Texts,
  TracedAsk,
  TracedCitation,
  TracedCoverage,
  TracedExec,
  TracedSession,
  TracedUnread,
} from "./format.ts";
import { EXEC_TEXTS, GRADES, KINDS } from "./format.ts";
import type { Kept } from "./trace-file.ts";
import { openNames, openWords, type Trace, type Tracing, traceFile, type Words } from "./trace-file.ts";
import { marksOf, openLabels, tracedWorkflow } from "./workflow-trace.ts";

/** Facts that a session's description does not have. */
export interface Beside {
  /**
   * Tells what the session's own context has at the place of a citation; null if it cannot be
   * read.
   */
  readonly around: (citation: Citation) => Surroundings | null;
  /** Parts of P that were looked at; null if they are not known. */
  readonly covered: WholeDescription["covered"];
}

/** The place of a citation in its context. */
interface Surroundings {
  /**
   * The text around it; null if a key stands in it, since offsets hold
   * only while nothing is replaced.
   */
  readonly around: TracedCitation["around"];
  /** True if the citation itself is a key, or a part of one. */
  readonly isKey: boolean;
}

/**
 * The trace of a session as `describe()` tells it: a head, columns of numbers, and chunks of
 * texts.
 */
export function traceOf(session: SessionDescription, tracing: Tracing & Beside): Trace {
  const words = openWords(tracing);
  const names = { models: openNames(), errors: openNames(), labels: openNames(), phases: openNames() };
  const execs: TracedExec[] = [];
  const rows: Row[] = [];
  const ofCalls: Kept[] = [];
  const ofExecs: Kept[] = [];
  const left_out: string[] = [];
  const citation = openCitations(words, tracing);
  const labelOf = openLabels(names.labels);

  /** The rows of calls. */
  const places = new Map<CallDescription, number>();
  /** True if a cell named the model of the session. */
  const isNamed = ({ call }: WalkedSession): boolean =>
    call !== null && (isNamed(call.of.in) || namesModel(call.of.exec, call.call));

  for (const step of walk(session)) {
    if (step.is === "exec") {
      const { exec, in: walked } = step;
      const { depth, call: answered } = walked;
      const from = rows.length;
      const workflow = tracedWorkflow(exec, words, names.phases);
      for (const call of exec.calls) {
        const texts = callTexts(exec, call).map(words.whole);
        const isMadeUp = isNamed(walked) || namesModel(exec, call);
        const model = names.models.numberOf(call.effects ? call.name : call.model, isMadeUp);
        const error = names.errors.numberOf(words.code(call.error_code ?? ""));
        places.set(call, rows.length);
        const label = labelOf(call, workflow !== null);
        const phase = names.phases.numberOf(call.phase);
        const marks = marksOf(call, workflow !== null);
        rows.push({ ...rowOf(exec, call, execs.length, texts), model, error, label, phase, marks });
        ofCalls.push({ texts, error: call.status === "failed" ? 1 : null });
      }
      const of = answered && (places.get(answered.call) ?? null);
      const at = { depth, of, from, to: rows.length, session: depth === 0 ? null : walked.session.id };
      const traced = tracedExec(exec, words, (one, number) => citation(one, number, depth === 0));
      execs.push({ ...traced, ...at, workflow });
      ofExecs.push({ texts: execTexts(exec).map(words.whole), error: EXEC_TEXTS.indexOf("error") });
    } else if (step.is === "call") {
      const { child } = step.call;
      if (child && !child.description) left_out.push(`the child ${child.session}`);
    }
  }

  const facts = {
    subject: "session" as const,
    session: tracedSession(session, words, left_out),
    execs,
    checkpoints: session.checkpoints.map(({ id, exec_id, kind, at }) => [id, exec_id, kind, at] as const),
    models: words.models(names.models),
    errors: names.errors.all(),
    labels: words.listed(names.labels, "call"),
    phases: words.listed(names.phases, "phase"),
    kinds: KINDS,
    coverage: tracing.covered && coverageIn(tracing.covered, session.skipped ?? null, words),
  };
  return traceFile(facts, rows, [ofCalls, ofExecs], words);
}

/** True if the cell of an exec names the model of its call, or an agent that nobody has lent. */
function namesModel({ turn }: ExecDescription, { args: [, options], refused }: CallDescription): boolean {
  return turn === null && isRecord(options) && ("model" in options || (refused && "agent" in options));
}

function rowOf(
  exec: ExecDescription,
  call: CallDescription,
  index: number,
  texts: Texts,
): Omit<Row, "model" | "error" | "label" | "phase" | "marks"> {
  const { asked_at, sent_at, ended_at, delivery } = call;
  const own = ownUsage(call);
  const nanos = Math.round(own.cost_usd * 1e9);
  const [prompt = "", answer = ""] = texts;
  return {
    exec: index,
    number: call.number,
    batch: call.batch ?? 0,
    asked: asked_at - exec.began_at,
    queue: sent_at === null ? null : sent_at - asked_at,
    run: ended_at === null ? null : ended_at - (sent_at ?? asked_at),
    kind: KINDS.indexOf(kindOf(exec, call)),
    why: 0,
    input: own.input,
    output: own.output,
    cached_in: own.cache_read,
    cache_write: own.cache_write,
    estimated: own.estimated,
    micro: Math.floor(nanos / 1000),
    nano: nanos % 1000,
    tries: call.attempts,
    resent: call.resent,
    delivery: delivery?.waited_ms ?? null,
    calls: 0,
    plen: prompt.length,
    alen: answer.length,
  };
}

function kindOf({ resumes }: ExecDescription, call: CallDescription): (typeof KINDS)[number] {
  const { refused, cached, status, ended_at } = call;
  if (refused) return "refused";
  if (cached) return "cached";
  if (status === "pending") return "pending";
  if (status === "failed") return "lost";
  const resume = resumes.at(-1);
  return resume && ended_at !== null && ended_at <= resume.at - resume.gap_ms ? "kept" : "paid";
}

/**
 * The usage of a call without that of the calls of its child, which
 * stand in the trace themselves.
 */
function ownUsage({ usage, child }: CallDescription) {
  const below = (child?.description?.execs ?? []).flatMap(({ calls }) => calls.map((call) => call.usage));
  const rest = (name: "input" | "output" | "cost_usd" | "cache_read" | "cache_write" | "estimated") =>
    below.reduce((left, one) => Math.max(0, left - (one[name] ?? 0)), usage[name] ?? 0);
  return {
    input: rest("input"),
    output: rest("output"),
    cost_usd: rest("cost_usd"),
    cache_read: rest("cache_read"),
    cache_write: rest("cache_write"),
    estimated: rest("estimated"),
  };
}

/** Its prompt and its answer, and the folders of its changes, if there are any. The request of a turn has what the turn added to the conversation. */
function callTexts({ turn }: ExecDescription, { prompt, args, answer, misfit, worktrees }: CallDescription): Texts {
  const asked = turn ? turn.messages.join("\n\n") : textOf(prompt ?? [...args]);
  const said = misfit === null ? textOf(answer) : `${textOf(answer)}\n\nThe model's last answer:\n${misfit}`;
  return worktrees.length > 0 ? [asked, said, worktrees.join("\n")] : [asked, said];
}

function execTexts({ source, stdout, stderr, result_json, error, ask, turn }: ExecDescription): Texts {
  const texts: Readonly<Record<(typeof EXEC_TEXTS)[number], string>> = {
    code: ask ? ask.question : textOf(source),
    output: stdout,
    errors: stderr,
    result: textOf(result_json),
    error: error ?? "",
    answer: textOf(ask ? ask.answer : turn?.text),
  };
  return EXEC_TEXTS.map((name) => texts[name]);
}

/** A text of a value: texts as they are, other values as JSON. */
function textOf(value: Json | undefined): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 1);
}

function tracedExec(exec: ExecDescription, words: Words, citation: ReadCitation) {
  const { exec_id: id, number, kind, parent, file, status, error_code, checkpoint_id, ask, turn } = exec;
  const [said = ""] = (turn?.text ?? "").trim().split("\n", 1);
  return {
    id,
    number,
    kind,
    parent,
    label: words.line(turn ? said : exec.input),
    status,
    checkpoint_id,
    error_code: error_code === null ? null : words.code(error_code),
    file: file === null ? null : words.line(file) || null,
    began: exec.began_at,
    ended: exec.ended_at,
    ms: exec.time_ms,
    turn: turn?.number ?? null,
    resumes: exec.resumes.map(({ checkpoint_id: _, ...resume }) => resume),
    ask: ask && tracedAsk(ask, words, citation),
    warnings: words.tracing.texts ? exec.warnings.map(words.line) : [],
  };
}

type ReadCitation = (one: Json, number: number) => TracedCitation | [];

function tracedAsk(ask: NonNullable<ExecDescription["ask"]>, words: Words, citation: ReadCitation): TracedAsk {
  const { answered_by, limits_met, warnings } = ask;
  const bare = { answered_by, limits_met: limits_met.map(words.line), citations: [], notes: [], load_notes: [] };
  if (!words.tracing.texts) return bare;
  const invalid = ask.citations.filter((one) => !v.is(ValidCitation, one)).length;
  const sentences = [...warnings, ...(invalid > 0 ? [`citation_invalid: ${invalid}`] : [])];
  const sentenceOf = (warning: string) => {
    const sentence = warningSentence(warning, {}, CURES) ?? warning;
    return words.whole(sentence).slice(0, NOTE_UNITS);
  };
  const isOfLoad = (warning: string) => OF_LOADS.includes(partsOfWarning(warning).code);
  return {
    answered_by,
    limits_met: limits_met.map((limit) => words.line(limitName(limit))),
    citations: ask.citations.slice(0, MOST_CITATIONS).flatMap((one, at) => citation(one, at + 1)),
    notes: sentences.filter((warning) => !isOfLoad(warning)).map(sentenceOf),
    load_notes: sentences.filter(isOfLoad).map(sentenceOf),
  };
}

const NOTE_UNITS = 600;
/** Warnings about what a load left out of the context. */
const OF_LOADS = ["files_skipped", "documents_lost", "places_capped"];

const MOST_CITATIONS = 50;

/** Cures for a reader of the page, who cannot change a setting. */
const CURES: WarningCures = {
  moreMatches: "there may be more",
  moreOutput: "the rest was not seen",
  largeResult: "it was not seen",
  moreSubCalls: "the budget allowed no more",
  removeHelper: "removed",
  otherModel: "another one may answer otherwise",
  raiseLimit: () => "what that kept from being asked is not in the answer",
};

/** Reads citations of asks. Another user may have written the store: what is none is left out. */
function openCitations({ whole }: Words, { around, covered }: Beside) {
  return (one: Json, number: number, isOwn: boolean): TracedCitation | [] => {
    const read = v.safeParse(CitationSchema, one);
    if (!read.success || !read.output.valid) return [];
    const { doc, line, place, quote, p_start } = read.output;
    const named = (name: string | null) => (name === null ? null : whole(name));
    const found = isOwn ? around(read.output) : null;
    const reached = isOwn && p_start !== null ? covered?.gradeAt(p_start) : undefined;
    const grade = GRADES[reached ?? -1] ?? null;
    const shown = found?.isKey ? "[redacted]" : whole(quote ?? "");
    return { number, doc: named(doc), line, place: named(place), quote: shown, grade, around: found?.around ?? null };
  };
}

const count = v.nullable(v.number());
const text = v.nullable(v.string());
const ValidCitation = v.object({ valid: v.literal(true) });
const CitationSchema = v.object({
  valid: v.boolean(),
  doc: text,
  line: count,
  place: v.optional(text, null),
  quote: text,
  start: count,
  end: count,
  p_start: count,
  p_end: count,
});

function tracedSession(session: SessionDescription, words: Words, left_out: readonly string[]): TracedSession {
  const { id, name, status, context, forked_from } = session;
  const { texts, label } = words.tracing;
  const named = name ?? (label === undefined ? null : words.whole(label));
  return {
    id,
    name: texts ? named : null,
    status,
    waiting: waitingIn(session, words),
    budget_usd: budgetIn(session.settings),
    forked_from,
    left_out,
    context: context && { ...context, sources: texts ? context.sources.map(words.line) : [] },
    damaged: words.counted(damagedIn(session), "damaged part"),
  };
}

/** `12 calls wait for anthropic, until 2026-03-04 10:00 UTC`; empty: no record says what is waited for. */
function waitingIn({ waits = [], waits_for }: SessionDescription, { whole, code, tracing }: Words): string {
  const waiting = waits.map(({ provider, calls, until }) => {
    return `${amount(calls, "call waits", "calls wait")} for ${provider}${untilText(until)}`;
  });
  if (waits_for) {
    const why = tracing.texts ? whole(waits_for.message) : code(waits_for.code);
    waiting.push(`${why}${waits_for.retry_at === undefined ? "" : untilText(waits_for.retry_at)}`);
  }
  return waiting.join("; ");
}

/** A date that JavaScript cannot have is left out: another user may have written the store. */
function untilText(at: number): string {
  const time = new Date(at);
  const isDate = !Number.isNaN(time.getTime());
  return isDate ? `, until ${time.toISOString().slice(0, 16).replace("T", " ")} UTC` : "";
}

/**
 * The dollars that a session may spend, by settings as the command, the library or Pi recorded
 * them.
 */
function budgetIn(settings: Json): number | null {
  const read = v.safeParse(v.union([v.object({ settings: Budget }), Budget]), settings);
  if (!read.success) return null;
  return "settings" in read.output ? read.output.settings.max_cost_usd : read.output.max_cost_usd;
}

const Budget = v.object({ max_cost_usd: v.number() });

/** Equal stretches of P in the picture, and documents of a grade that are listed. */
const STRETCHES = 600;
const LISTED = 400;

function coverageIn(covered: NonNullable<Beside["covered"]>, skipped: ToldSkips | null, words: Words): TracedCoverage {
  const { totals, largest, reached, length } = covered;
  const documents = GRADES.map((name, grade) => {
    const nameOf = (id: string, at: number) => words.line(id) || `document ${at + 1}`;
    const named = largest(grade, LISTED).map(({ id, chars, at }) => [nameOf(id, at), chars] as const);
    return { count: totals.documents[name], largest: named };
  });
  const strip = reached.map((ranges) => sharesOf(ranges, length));
  return {
    told: coverageLine(totals),
    sentence: coverageSentence(totals),
    strip,
    documents,
    unread: unreadIn(skipped, words),
  };
}

function unreadIn(skipped: ToldSkips | null, words: Words): TracedUnread | null {
  if (!skipped || skipped.unread === 0) return null;
  const failed = skipped.files.filter(({ reason }) => isUnread(reason)).slice(0, LISTED);
  const files = failed.map(({ path, reason }) => [words.line(path), words.line(reason)] as const);
  return { count: skipped.unread, files: words.tracing.texts ? files : [] };
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
