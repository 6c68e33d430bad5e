import { redacted } from "../platform/redact.ts";
import { type Compared, compareSessions, damagedIn, describeWhole, type WholeDescription } from "../session/index.ts";
import type { Store } from "../store/index.ts";
import type { TracedCompared } from "./format.ts";

/** Calls and documents of each kind in the head. */
const LISTED = 200;
/** UTF-16 units of a diff. */
const LONGEST = 64 * 1024;
/** Bytes in a file that it takes at most. */
export const AGAINST_BYTES = 512 * 1024;

/** The comparison of a session with another one as the page takes it, and lines for what cannot be read of that. */
export async function lookAgainst(
  store: Store,
  newer: Pick<WholeDescription, "session" | "key">,
  other: string,
  { texts }: { readonly texts: boolean },
): Promise<{ readonly against: TracedCompared; readonly damaged: readonly string[] }> {
  const older = await describeWhole(store, other, { partly: true });
  const compared = await compareSessions(store, newer, older, { listed: LISTED, clean: redacted });
  return { against: texts ? bounded(compared) : withoutTexts(compared), damaged: damagedIn(older.session) };
}

function bounded(compared: Compared): TracedCompared {
  const cut = (end: Compared["result"]) => end && { ...end, hunks: end.hunks?.slice(0, LONGEST) ?? null };
  return { ...compared, result: cut(compared.result), answer: cut(compared.answer) };
}

/** Leaves figures, reasons and places. The sentence has no text of a session. */
function withoutTexts(compared: Compared): TracedCompared {
  const { against, documents } = compared;
  const bare = (end: Compared["result"]) => end && { ...end, hunks: null };
  return {
    ...compared,
    against: { id: against.id, name: null },
    calls: compared.calls.map((call) => ({ ...call, documents: [], words: "" })),
    documents: documents && { ...documents, listed: { changed: [], new: [], gone: [] } },
    ...{ result: bare(compared.result), answer: bare(compared.answer) },
  };
}
