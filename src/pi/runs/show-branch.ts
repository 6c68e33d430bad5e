import { unreadSentence } from "../../context/index.ts";
import { type LoadResult, type Session, summaryOf } from "../../session/index.ts";
import type { Store } from "../../store/index.ts";
import type { BranchHead, BranchView } from "../branch/entries.ts";
import type { Opened } from "../opened/opened.ts";
import type { Asked } from "../outside/index.ts";
import { statsOf } from "../recovery/recorded.ts";
import type { ContextState, StateBoard } from "./board.ts";

/** Brings the board up to the branch. Nothing is opened for a branch on which RLM was not used. @throws RlmError */
export async function showBranch(
  board: StateBoard,
  { head, completed, isUsed }: BranchView,
  open: () => Promise<Opened>,
): Promise<void> {
  board.change({ checkpoints: completed.size });
  if (!isUsed) return;
  const { sessions, store } = await open();
  const current = sessions.current();
  const isThere = head?.session === current?.id && head?.checkpoint === store.head(current?.id ?? "");
  if (current && (!head || isThere)) return showSession(board, current, store.head(current.id));
  board.change({
    session: head?.session ?? null,
    checkpoint: head?.checkpoint ?? null,
    budget: null,
    context: head && (await contextOf(store, head)),
  });
}

/** Shows a session that is open. */
export function showSession(board: StateBoard, session: Session, checkpoint: string | null): void {
  const stats = session.stats();
  const context = stats && contextState(stats);
  board.change({ session: session.id, checkpoint, budget: session.budget(), context });
}

/** Brings the board up to what of the conversation is outside. If Pi has left the session, nothing is shown anew. */
export function showConversation(board: StateBoard, asked: Pick<Asked, "overview" | "size">): void {
  try {
    const { objects, epochs } = asked.overview();
    const out = objects.filter(({ is }) => is !== "in");
    const isShown = epochs.length > 0 && out.length > 0;
    if (!isShown && board.current().conversation === null) return;
    const tokens = out.reduce((sum, object) => sum + object.tokens, 0);
    board.change({ conversation: isShown ? { objects: out.length, tokens, next: asked.size() } : null });
  } catch {
    // What is shown must not end what Pi does.
  }
}

/** The context of a session that is not open. What the session says of itself is cheaper to read, and often suffices. */
async function contextOf(store: Store, head: BranchHead): Promise<ContextState | null> {
  const row = await store.find(head.session);
  if (!row || head.context === null) return null;
  const { context } = summaryOf(row);
  if (!context || row.head !== head.checkpoint) {
    const stats = await statsOf(store, head.context);
    return stats && contextState(stats);
  }
  const { sources, chars } = context;
  return { sources, chars, tokens_estimate: Math.floor(chars / 4), documents: null };
}

function contextState(stats: LoadResult["stats"]): ContextState {
  return {
    sources: stats.sources,
    chars: stats.length_chars,
    tokens_estimate: stats.length_tokens_estimate,
    documents: stats.document_count,
    unread: unreadSentence(stats.skipped, "stats().skipped in a cell"),
  };
}
