import type { Json } from "../../runtime/index.ts";
import { amount, priced, thousands } from "../platform/figures.ts";
import type { Store } from "../store/index.ts";
import type { SessionDescription, WholeDescription } from "./api.ts";
import { type ComparedCalls, compareCalls } from "./compared-calls.ts";
import { type ComparedDocuments, type Comparing, compareDocuments } from "./compared-documents.ts";

/** The end of a session against that of another one. */
interface ComparedText {
  /** `new`: the other session has none. `gone`: only the other session has one. */
  readonly is: "same" | "changed" | "new" | "gone";
  /**
   * Lines that were added or removed, whichever are more, and hunks of a unified diff;
   * null: there are too many, or none.
   */
  readonly lines: number | null;
  readonly hunks: string | null;
}

/** A session against an older one. Counts are of all, and lists have the first of them. */
export interface Compared extends ComparedCalls {
  readonly against: Pick<SessionDescription, "id" | "name">;
  /** The sentence of `belay show --against`. */
  readonly told: string;
  /** Dollars of each session. */
  readonly cost_usd: number;
  readonly cost_usd_before: number;
  /** null: one of the sessions has no context, it is lost, or there are too many. */
  readonly documents: ComparedDocuments | null;
  /** Why documents were not compared that are there. Absent if they were. */
  readonly documents_not_compared?: string;
  /** The result of the last cell, and the answer of the last ask; null: neither session has one. */
  readonly result: ComparedText | null;
  readonly answer: ComparedText | null;
}

/** A session with the key of its context. */
type Whole = Pick<WholeDescription, "key"> & { readonly session: SessionDescription };

/**
 * Says how a session differs from an older one: a fork of it, or a separate session. The
 * time that it takes grows with the calls and documents of both.
 */
export async function compareSessions(
  store: Pick<Store, "context" | "contextIndex" | "texts">,
  newer: Whole,
  older: Whole,
  { listed, clean = (text) => text }: Comparing,
): Promise<Compared> {
  const found = await compareDocuments(store, newer.key, older.key, { listed, clean });
  const now = newer.session;
  const before = older.session;
  const documents = found?.told ?? null;
  const why = found?.why ?? null;
  const calls = compareCalls(now, before, found, { listed, clean });
  const result = await compareTexts(resultOf(now), resultOf(before), clean);
  const answer = await compareTexts(answerOf(now), answerOf(before), clean);
  return {
    against: { id: before.id, name: before.name === null ? null : clean(before.name) },
    told: sentenceOf({ ...calls, documents, why, result, answer }),
    ...calls,
    cost_usd: now.cost_usd,
    cost_usd_before: before.cost_usd,
    documents,
    ...(why === null ? {} : { documents_not_compared: why }),
    result,
    answer,
  };
}

/** The result of the last cell that stands by itself; null: there is none. */
function resultOf({ execs }: SessionDescription): string | null {
  const last = execs.findLast(({ kind, parent }) => parent === null && (kind === "cell" || kind === "query"));
  return last?.status === "ok" ? textOf(last.result_json) : null;
}

function answerOf({ execs }: SessionDescription): string | null {
  const last = execs.findLast(({ ask }) => ask !== null);
  return last?.status === "ok" ? textOf(last.ask?.answer ?? null) : null;
}

/** A text as it is, and another value as lines of JSON. */
const textOf = (value: Json) => (typeof value === "string" ? value : JSON.stringify(value, null, 1));

/** UTF-16 units of a text that is compared line by line. */
const LONGEST = 256 * 1024;

async function compareTexts(
  now: string | null,
  before: string | null,
  clean: (text: string) => string,
): Promise<ComparedText | null> {
  const none = { lines: null, hunks: null };
  if (now === null || before === null) {
    return now === before ? null : { is: before === null ? "new" : "gone", ...none };
  }
  if (now === before) return { is: "same", ...none };
  if (Math.max(now.length, before.length) > LONGEST) return { is: "changed", ...none };
  const { patchOf } = await import("../platform/patch.ts");
  // A line feed at the end spares the diff its words on a missing one.
  const patch = patchOf(`${clean(before)}\n`, `${clean(now)}\n`);
  return { is: "changed", lines: patch?.changed ?? null, hunks: patch?.hunks ?? null };
}

/** The facts of a comparison's sentence. */
interface ToTell extends ComparedCalls, Pick<Compared, "documents" | "result" | "answer"> {
  /** Why documents were not compared; `null` if they were, or are not there. */
  readonly why: string | null;
}

/**
 * `3 of 412 documents changed; 409 calls answered from the cache, 3 asked again ($0.02); the answer changed in 2 lines`
 */
function sentenceOf(compared: ToTell): string {
  const { documents, why, result, answer } = compared;
  const end = answer ? endTold("answer", answer) : result ? endTold("result", result) : [];
  const unseen = why === null ? [] : [`documents were not compared: ${why}`];
  const told = [...documentsTold(documents), ...unseen, ...callsTold(compared), ...end];
  return told.length > 0 ? told.join("; ") : "neither session has calls, results or a context that the other one lacks";
}

function documentsTold(documents: ComparedDocuments | null): string[] {
  if (!documents) return [];
  const { total, changed, new: fresh, gone } = documents;
  const more = [...(fresh > 0 ? [`${thousands(fresh)} new`] : []), ...(gone > 0 ? [`${thousands(gone)} gone`] : [])];
  return [[`${thousands(changed)} of ${amount(total, "document")} changed`, ...more].join(", ")];
}

function callsTold({ counts, past, cost_usd_asked }: ComparedCalls): string[] {
  const { same, again, new: fresh, gone, replaced } = counts;
  const shared = past.is_shared ? past.calls : 0;
  const price = priced(cost_usd_asked).map((dollars) => ` (${dollars})`);
  const first = fresh - replaced;
  const told: (readonly [count: number, words: string])[] = [
    [shared, "in the common past"],
    [same - shared, "answered from the cache"],
    [again + replaced, `asked again${first > 0 ? "" : price.join("")}`],
    [first, `asked for the first time${price.join("")}`],
    [gone - replaced, "not asked any more"],
  ];
  const parts = told.filter(([count]) => count > 0);
  const [[count, words] = [0, ""], ...more] = parts;
  if (count === 0) return [];
  return [[`${amount(count, "call")} ${words}`, ...more.map(([one, said]) => `${thousands(one)} ${said}`)].join(", ")];
}

function endTold(what: string, { is, lines }: ComparedText): string[] {
  if (is === "same") return [`the ${what} is the same`];
  if (is === "new") return [`only this session has the ${what}`];
  if (is === "gone") return [`only the other session has the ${what}`];
  return [lines === null ? `the ${what} is another one` : `the ${what} changed in ${amount(lines, "line")}`];
}
