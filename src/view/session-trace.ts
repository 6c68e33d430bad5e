import type { Context } from "../context/index.ts";
import { type Compared, compareSessions, damagedIn, describeWhole } from "../history/index.ts";
import { binarySearch } from "../platform/binary-search.ts";
import { nullIf } from "../platform/errors.ts";
import { keysIn, LONGEST_KEY, redacted } from "../platform/redact.ts";
import { storedContext } from "../session/index.ts";
import type { Store } from "../store/index.ts";
import { type Beside, traceOf } from "./trace.ts";
import type { Trace, Tracing } from "./trace-file.ts";

/** Children that are described at most: each is read from the store. */
const CHILDREN = 1000;

/**
 * Calls and documents of each kind in a comparison, UTF-16 units of its diff, and bytes
 * in a file that it takes at most.
 */
const LISTED = 200;
const LONGEST = 64 * 1024;
const AGAINST_BYTES = 512 * 1024;

/** A trace as far as it can be read, and a line for everything that cannot be. */
export interface Looked {
  readonly trace: Trace;
  readonly damaged: readonly string[];
}

/**
 * The trace of a stored session.
 * @param other the id of a session with which it is compared; null: none
 */
export async function lookAt(store: Store, id: string, tracing: Tracing, other: string | null = null): Promise<Looked> {
  const { session, key, covered } = await describeWhole(store, id, {
    children: CHILDREN,
    partly: true,
    readsContext: true,
  });
  const isCited = session.execs.some(({ ask }) => ask !== null && ask.citations.length > 0);
  const isRead = isCited && tracing.texts && key !== null;
  const context = isRead ? await nullIf("context_lost", storedContext(store, key)) : null;
  using _text = context?.text;
  const around = surroundings(context);
  const own = damagedIn(session);
  if (other === null) return { trace: traceOf(session, { ...tracing, around, covered }), damaged: own };
  const older = await describeWhole(store, other, { partly: true });
  const compared = await compareSessions(store, { session, key }, older, { listed: LISTED, clean: redacted });
  const against = fitting(compared, tracing.texts);
  const maxBytes = tracing.maxBytes - AGAINST_BYTES;
  const trace = traceOf(session, { ...tracing, maxBytes, around, covered });
  return { trace: { ...trace, head: { ...trace.head, against } }, damaged: [...own, ...damagedIn(older.session)] };
}

/** UTF-16 units on both sides of a citation, and of the citation itself. */
const AROUND = 2000;
const CITED = 4000;

/**
 * Gives the text around citations of the session's own context, as far as their document goes.
 * Where the context has another text at that place, none is given.
 */
export function surroundings(context: Pick<Context, "text" | "documents"> | null): Beside["around"] {
  return ({ p_start, p_end, quote }) => {
    if (!context || p_start === null || p_end === null || quote === null) return null;
    const { text, documents } = context;
    if (text.slice(p_start, p_start + quote.length) !== quote) return null;
    const length = Math.min(p_end - p_start, CITED);
    const last = binarySearch(documents.length, (at) => (documents.at(at)?.end ?? 0) >= p_start + length);
    const document = documents.at(last);
    const isWithin = document !== undefined && document.start <= p_start;
    const from = Math.max(isWithin ? document.start : 0, p_start - AROUND);
    const to = Math.min(isWithin ? document.end : text.length, p_start + length + AROUND);
    // Keys are looked for beyond what is shown: half a one would not be known.
    const first = Math.max(0, from - LONGEST_KEY);
    const keys = keysIn(text.slice(first, Math.max(to, p_start + quote.length) + LONGEST_KEY));
    const touches = (start: number, end: number) => keys.some((key) => key[0] + first < end && start < key[1] + first);
    return {
      around: touches(from, to) ? null : { text: text.slice(from, to), at: p_start - from, length },
      isKey: touches(p_start, p_start + quote.length),
    };
  };
}

/**
 * A comparison as the page takes it. Without texts figures, reasons and places are left. The
 * sentence has no text of a session.
 */
function fitting(compared: Compared, texts: boolean): Compared {
  const end = (of: Compared["result"]) => of && { ...of, hunks: (texts && of.hunks?.slice(0, LONGEST)) || null };
  const ends = { result: end(compared.result), answer: end(compared.answer) };
  if (texts) return { ...compared, ...ends };
  const { against, calls, documents } = compared;
  return {
    ...compared,
    ...ends,
    against: { id: against.id, name: null },
    calls: calls.map((call) => ({ ...call, documents: [], words: "" })),
    documents: documents && { ...documents, listed: { changed: [], new: [], gone: [] } },
  };
}
