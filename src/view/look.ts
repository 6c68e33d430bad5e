import type { Context } from "../context/index.ts";
import { nullIf } from "../platform/errors.ts";
import { type Citation, damagedIn, describeWhole, storedContext } from "../session/index.ts";
import type { Store } from "../store/index.ts";
import { AGAINST_BYTES, lookAgainst } from "./against.ts";
import type { TracedCitation } from "./format.ts";
import { type Trace, type Tracing, traceOf } from "./trace.ts";

/** Children that are described at most: each is read from the store. */
const CHILDREN = 1000;

/**
 * The trace of a stored session, as far as it can be read, and a line for everything that cannot be.
 *
 * @param other the id of a session with which it is compared; null: none
 */
export async function lookAt(
  store: Store,
  id: string,
  tracing: Omit<Tracing, "around" | "covered">,
  other: string | null = null,
): Promise<{ readonly trace: Trace; readonly damaged: readonly string[] }> {
  const { session, key, covered } = await describeWhole(store, id, { children: CHILDREN, partly: true });
  const isCited = session.execs.some(({ ask }) => ask !== null && ask.citations.length > 0);
  const around = surroundings(isCited && tracing.texts && key !== null ? await textOf(store, key) : null);
  const own = damagedIn(session);
  if (other === null) return { trace: traceOf(session, { ...tracing, around, covered }), damaged: own };
  const { against, damaged } = await lookAgainst(store, { session, key }, other, tracing);
  const maxBytes = tracing.maxBytes - AGAINST_BYTES;
  const trace = traceOf(session, { ...tracing, maxBytes, around, covered });
  return { trace: { ...trace, head: { ...trace.head, against } }, damaged: [...own, ...damaged] };
}

/** UTF-16 units on both sides of a citation, and of the citation itself. */
const [AROUND, CITED] = [2000, 4000];

/** Gives the text around citations of the session's own context. Where that has another text there, none is given. */
function surroundings(text: Context["text"] | null): Tracing["around"] {
  return ({ p_start, p_end, quote }: Citation): TracedCitation["around"] => {
    if (!text || p_start === null || p_end === null || quote === null) return null;
    if (text.slice(p_start, p_start + quote.length) !== quote) return null;
    const from = Math.max(0, p_start - AROUND);
    const length = Math.min(p_end - p_start, CITED);
    return { text: text.slice(from, p_start + length + AROUND), at: p_start - from, length };
  };
}

/** The text of a context; null if the store does not have it whole. */
async function textOf(store: Store, key: string): Promise<Context["text"] | null> {
  const context = await nullIf("context_lost", storedContext(store, key));
  return context?.text ?? null;
}
