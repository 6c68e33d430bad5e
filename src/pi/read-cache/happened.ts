import * as v from "valibot";
import { memoize } from "../../platform/memoize.ts";
import { type BranchEntry, type Call, callsOf, messageOf, onlyText, type PiMessage } from "../externalize/message.ts";

import { canName, digest } from "./file.ts";
import { FULL, type Lines, type Meta, metaIn, REFRESH_ENTRY, refreshIn, scopeOf } from "./meta.ts";

/** The parts with which a branch is read. */
export interface BranchReading {
  readonly branch: readonly BranchEntry[];
  readonly cwd: string;
  /**
   * True if the model was sent this text as the result of this call, when it asked for what is read
   * now.
   */
  wasSent(call: string, text: string): boolean;
  /** The answer to a call of this entry whose result is not on the branch yet. */
  served(entry: BranchEntry, call: string): Meta | undefined;
}

/**
 * Events of a file before a call, or up to now, from the newest compaction on: earlier ones may be
 * gone from the model's window, whichever entries were kept. Results stand in the order of the
 * branch.
 */
export function happenedTo(file: string, call: string | null, reading: BranchReading): readonly Happened[] {
  const { branch } = reading;
  const start = branch.findLastIndex(({ type }) => type === "compaction") + 1;
  const asked = branch.findLastIndex((entry) => callsIn(entry).some(({ id }) => id === call));
  const open: OpenCall[] = [];
  const happened: Happened[] = [];
  for (const [at, entry] of branch.entries()) {
    if (at < start) continue;
    // Calls of a process that died have no results: an edit among them may have been made.
    if (callsIn(entry).length > 0) happened.push(...withoutResults(open, file, reading));
    for (const one of callsBefore(entry, at === asked ? call : null)) open.push({ ...one, entry });
    const message = messageOf(entry);
    if (message?.role === "toolResult") {
      const answered = open.findIndex(({ id }) => id === message.toolCallId);
      const [own] = answered < 0 ? [] : open.splice(answered, 1);
      happened.push(...ofResult(message, own, { ...reading, file, isOfThisAnswer: asked >= 0 && at > asked }));
    } else if (entry.type === "custom" && entry.customType === REFRESH_ENTRY) {
      const refresh = refreshIn(entry.data);
      if (refresh?.pathKey === file) happened.push({ is: "refreshed", scope: refresh.scopeKey });
    }
  }
  return [...happened, ...withoutResults(open, file, reading)];
}

/** The model's knowledge of a file when it makes a call. */
export function knownAt(file: string, call: string, reading: BranchReading): Known {
  return knownOf(happenedTo(file, call, reading));
}

type OpenCall = Call & { readonly entry: BranchEntry };

/** Calls that an entry has. */
export function callsIn(entry: BranchEntry): readonly Call[] {
  const message = messageOf(entry);
  return message ? callsOf(message) : [];
}

/** The calls of an entry, up to this one. */
function callsBefore(entry: BranchEntry, call: string | null): readonly Call[] {
  const calls = callsIn(entry);
  // Several may have its id: an edit among them may have been made before it.
  const end = calls.findLastIndex(({ id }) => id === call);
  return end < 0 ? calls : calls.slice(0, end);
}

interface ResultParts extends BranchReading {
  readonly file: string;
  /**
   * The result and the read that is answered now are of one answer of the model: it is sent both at
   * once.
   */
  readonly isOfThisAnswer: boolean;
}

function ofResult(message: PiMessage, call: OpenCall | undefined, parts: ResultParts): readonly Happened[] {
  const { file, cwd, isOfThisAnswer, wasSent } = parts;
  const { toolName = "", toolCallId = "" } = message;
  const isError = Reflect.get(message, "isError") === true;
  if (CHANGING.includes(toolName)) {
    if (!call || !names(call, cwd, file)) return [];
    return [{ is: isError ? "edit failed" : "edited" }];
  }
  if (toolName !== "read" || isError) return [];
  const meta = metaOf(message);
  if (!meta) return call && names(call, cwd, file) ? [{ is: "unproven" }] : [];
  if (meta.pathKey !== file) return [];
  const text = onlyText(message);
  if (text === null || digest(text) !== meta.text) return [{ is: "unproven" }];
  return isOfThisAnswer || wasSent(toolCallId, text) ? [{ is: "read", meta }] : [];
}

/**
 * Possible effects of calls that have no result on the branch, in their order; none is open
 * afterwards.
 */
function withoutResults(open: OpenCall[], file: string, { cwd, served }: BranchReading): Happened[] {
  return open.splice(0).flatMap((call): Happened[] => {
    if (CHANGING.includes(call.name)) return names(call, cwd, file) ? [{ is: "edited" }] : [];
    const meta = call.name === "read" ? served(call.entry, call.id) : undefined;
    return meta?.pathKey === file ? [{ is: "read", meta }] : [];
  });
}

/** An answer to a read, and the bytes that were sent of it. */
export interface ReadAnswer {
  readonly meta: Meta;
  readonly sentBytes: number;
}

/** Every answer of the branch since the newest compaction. */
export function answersOn(branch: readonly BranchEntry[]): ReadAnswer[] {
  const start = branch.findLastIndex(({ type }) => type === "compaction") + 1;
  return branch.slice(start).flatMap((entry) => {
    const message = messageOf(entry);
    if (message?.toolName !== "read") return [];
    const meta = metaOf(message);
    const text = onlyText(message);
    return meta && text !== null ? [{ meta, sentBytes: Buffer.byteLength(text) }] : [];
  });
}

/** The details of a result. */
const metaOf = memoize((message: PiMessage) => metaIn(Reflect.get(message, "details")));

const CHANGING = ["edit", "write"];

function names({ args }: Call, cwd: string, file: string): boolean {
  const given = v.safeParse(ArgumentsSchema, args);
  const path = given.success ? (given.output.path ?? given.output.file_path) : undefined;
  return path !== undefined && canName(path, cwd, file);
}

const ArgumentsSchema = v.object({ path: v.optional(v.string()), file_path: v.optional(v.string()) });

/** An event of one file on a branch that changes what the model knows of it. */
export type Happened =
  /** The model has this answer. */
  | { readonly is: "read"; readonly meta: Meta }
  /** The model was sent something else of the file, and it is unknown what. */
  | { readonly is: "unproven" }
  | { readonly is: "refreshed"; readonly scope: string }
  /** The model's own edit or write. */
  | { readonly is: "edited" }
  | { readonly is: "edit failed" };

/** The state of the file of which the model has a scope. */
interface Trust {
  readonly hash: string;
  /**
   * The state that the lines were shown of: another one if a marker has said since that they are
   * equal in this one.
   */
  readonly shownOf: string;
  /** Grows with each thing that happened. */
  readonly seq: number;
  /** Digest of the lines of a range. */
  readonly shown: string | null;
}

/** The model's knowledge of one file. */
export interface Known {
  readonly full: Trust | null;
  /** By scope. */
  readonly ranges: ReadonlyMap<string, Trust>;
  /** Lines that a refresh wants whole, though the whole file is known. */
  readonly blocked: readonly (Pick<Lines, "start" | "end"> & { readonly seq: number })[];
  /**
   * The newest state of which anything was shown, and since when nothing else was; null if unknown.
   */
  readonly newest: { readonly hash: string; readonly since: number } | null;
  /** When the model changed the file last; -1 if it did not. */
  readonly edited: number;
}

const NOTHING: Known = { full: null, ranges: new Map(), blocked: [], newest: null, edited: -1 };

/** The model's knowledge of a file after all events, in order. */
export function knownOf(happened: readonly Happened[]): Known {
  return happened.reduce(after, NOTHING);
}

/**
 * True if the model has seen nothing of another state since. A text in pieces of two states is not
 * one that it can rely on, and showing some lines again does not put the others right.
 */
export function isOfOneState({ newest }: Known, { shownOf, seq }: Trust): boolean {
  return newest !== null && newest.hash === shownOf && newest.since <= seq;
}

/**
 * The trust that an answer about these lines can rest on; of a range the fresher one of its own and
 * the whole file's.
 */
export function candidateOf(known: Known, lines: Lines): Trust | null {
  const scope = scopeOf(lines);
  if (scope === FULL) return known.full;
  const exact = known.ranges.get(scope) ?? null;
  const full = isBlocked(known, scope) ? null : known.full;
  if (!exact || !full) return exact ?? full;
  return full.seq > exact.seq ? full : exact;
}

function after(known: Known, event: Happened, seq: number): Known {
  switch (event.is) {
    case "read":
      return afterRead(known, event.meta, seq);
    case "unproven":
      return { ...known, newest: null };
    case "refreshed":
      return afterRefresh(known, event.scope, seq);
    case "edited":
      return { ...known, edited: seq };
    case "edit failed":
      return { ...known, full: null, ranges: new Map(), newest: null };
  }
}

function afterRead(known: Known, meta: Meta, seq: number): Known {
  const { mode, scopeKey: scope, servedHash: hash, baseHash: base, shown } = meta;
  const { full, ranges, newest } = known;
  const isFull = scope === FULL;
  const asShown = (): Known => {
    const trust = { hash, shownOf: hash, seq, shown: isFull ? null : shown };
    const next = { ...known, newest: { hash, since: newest?.hash === hash ? newest.since : seq } };
    return isFull ? { ...next, full: trust } : { ...next, ranges: new Map(ranges).set(scope, trust) };
  };
  const rests = (trust: Trust | null) => (trust?.hash === base && trust && isOfOneState(known, trust) ? trust : null);
  // No marker stands for a text that is older than the model's own edit: the one that it stood for
  // is no longer sent.
  const restsUnedited = (trust: Trust | null) => (trust && trust.seq > known.edited ? rests(trust) : null);
  switch (mode) {
    case "full":
    case "baseline_fallback":
      return isFull ? { ...asShown(), blocked: [] } : asShown();
    case "unchanged":
      return isFull && restsUnedited(full) && hash === base ? asShown() : known;
    case "diff":
      // The model has a diff then that fits nothing it has.
      return isFull && rests(full) ? asShown() : { ...known, newest: null };
    case "unchanged_range": {
      const on = restsUnedited(ranges.get(scope) ?? null) ?? (isBlocked(known, scope) ? null : restsUnedited(full));
      if (isFull || !on) return known;
      return { ...known, ranges: new Map(ranges).set(scope, { hash, shownOf: on.shownOf, seq, shown }) };
    }
  }
}

const RANGE = /^r:(\d{1,9}):(\d{1,9})$/;

/**
 * A range's refresh reaches every range that it touches: what a read shows may be cut shorter than
 * what is asked for.
 */
function afterRefresh(known: Known, scope: string, seq: number): Known {
  const range = rangeOf(scope);
  if (!range) return scope === FULL ? { ...known, full: null, ranges: new Map(), newest: null } : known;
  const ranges = new Map([...known.ranges].filter(([other]) => !touches(other, range)));
  return { ...known, ranges, blocked: [...known.blocked, { ...range, seq }] };
}

/** First and last line of a range's scope; null for `full`, and for what is not a scope. */
function rangeOf(scope: string): Pick<Lines, "start" | "end"> | null {
  const [, start, end] = RANGE.exec(scope) ?? [];
  const range = { start: Number(start), end: Number(end) };
  return range.start >= 1 && range.end >= range.start ? range : null;
}

function isBlocked({ ranges, blocked }: Known, scope: string): boolean {
  const shown = ranges.get(scope)?.seq ?? -1;
  return blocked.some((range) => range.seq > shown && touches(scope, range));
}

/** True if the two have a line in common. */
function touches(scope: string, range: Pick<Lines, "start" | "end">): boolean {
  const own = rangeOf(scope);
  return own !== null && own.start <= range.end && range.start <= own.end;
}
