import type { Asked } from "../outside/index.ts";
import type { StateBoard } from "./board.ts";

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
