import { LIMITS, RlmError } from "../../runtime/index.ts";
import {
  type Context,
  growingHistory,
  type HistoryMessage,
  historyContext,
  type ObjectSource,
  pauses,
} from "../context/index.ts";
import { withoutUndefined } from "../platform/json.ts";
import { memoize } from "../platform/memoize.ts";
import { storedContext } from "../session/index.ts";
import type { PiSettings } from "../settings/index.ts";
import type { Store } from "../store/index.ts";
import type { Conversation } from "../tools/index.ts";
import { type BranchView, startOf } from "./branch/entries.ts";

import { historyMessage, messagesOn } from "./branch/messages.ts";
import type { Asked } from "./externalize/asked.ts";
import { callsOf, type PiMessage, withAnswers } from "./externalize/message.ts";
import type { SaidObject } from "./externalize/overview.ts";
import type { PiContext, ToolResultMessage } from "./host.ts";
import type { ReadingDecision } from "./reading.ts";

import type { State } from "./runs/board.ts";

/** The parts of the lifecycle from which the conversation of a branch is read. */
interface ConversationParts {
  readonly context: () => PiContext;
  /** Results of recovered calls, which the branch may lack, by the keys of the calls. */
  readonly answers: ReadonlyMap<string, ToolResultMessage>;
  /** Opens the store. It is asked for only if the branch has a P. @throws RlmError */
  opened(): Promise<{ readonly store: Pick<Store, "context"> }>;
  view(): Pick<BranchView, "head">;
  /** Decides on objects that models are to read. */
  readonly reading: ReadingDecision;
  /** The part of it that is outside. */
  readonly outside: Pick<Asked, "overview" | "size">;
  readonly board: { current(): Pick<State, "context" | "budget" | "enabled" | "running"> };
  /** @throws RlmError `invalid_config` */
  settings(cwd: string): Pick<PiSettings, "max_depth">;
}

/** The conversation of the branch. Each time it is made of the entries that Pi has then. */
export interface Conversations {
  /** That in which a call is made. @param isAgain an earlier process began the call */
  at(tool_call_id: string, isAgain?: boolean): Conversation;
  /** The branch's P; null if it has none, or if it cannot be read. */
  context(): Promise<{ readonly P: Context | null; readonly problem: string | null }>;
  /** The messages before an exec began. */
  before(exec_id: string): Promise<Context>;
}

export function openConversations(parts: ConversationParts): Conversations {
  const { context, answers, board, reading, outside } = parts;
  const openP = openContextOfBranch(parts);

  const messages = (entries = context().sessionManager.getBranch()) =>
    withAnswers(messagesOn(entries), answers).flatMap((message) => {
      const said = saidIn(message);
      return said ? [{ said, message }] : [];
    });

  const contextOf = growingHistory();
  const historyOf = (all: readonly { readonly said: HistoryMessage }[]) => {
    const texts = all.map(({ said }) => said);
    return contextOf(texts, pauses());
  };

  const at = (tool_call_id: string, isAgain = false): Conversation => ({
    async objects() {
      const all = messages();
      const { P, problem } = await openP();
      const history = await historyOf(all);
      const own = all.findLastIndex(({ message }) => callsOf(message).some(({ id }) => id === tool_call_id));
      const sources: ObjectSource[] = [{ of: "history", context: history }];
      if (P) sources.push({ of: "P", context: P });
      return { sources, own: history.documents.at(own)?.id ?? null, problem };
    },
    history: () => historyOf(messages()),
    allowed: (asked, signal) => reading(asked, signal, isAgain),
    async stats() {
      const { length_chars, length_tokens_estimate, document_count } = (await historyOf(messages())).stats;
      const { context: P, budget, enabled, running } = board.current();
      const { objects, epochs } = outside.overview();
      const count = (state: SaidObject["is"]) => objects.filter(({ is }) => is === state).length;
      const usage = context().getContextUsage();
      const next = outside.size();
      const { max_depth = LIMITS.depth } = parts.settings(context().cwd);
      return {
        enabled,
        calls: { active: running?.calls?.running ?? 0, depth: running?.child?.depth ?? 0, max_depth },
        history: { objects: document_count, chars: length_chars, tokens_estimate: length_tokens_estimate },
        objects: { in: count("in"), out: count("out"), folded: count("folded") },
        epochs: epochs.length,
        context: P && {
          documents: P.documents,
          chars: P.chars,
          tokens_estimate: P.tokens_estimate,
          ...withoutUndefined({ unread: P.unread }),
        },
        request: { tokens: usage?.tokens ?? next.tokens, window: usage?.contextWindow ?? next.window },
        budget: budget && { ...budget },
      };
    },
  });
  return {
    at,
    context: openP,
    before(exec_id) {
      const entries = context().sessionManager.getBranch();
      const said = messages(entries.slice(0, startOf(entries, exec_id))).map((message) => message.said);
      return historyContext(said, pauses());
    },
  };
}

const saidIn = memoize((message: PiMessage) => historyMessage(message));

/**
 * The branch's P, from the store. What cannot be read is a problem, and not a failure: history is
 * there without it.
 */
function openContextOfBranch({ opened, view }: Pick<ConversationParts, "opened" | "view">) {
  // A session that is open has P too, and up to 100 MB are not to be held twice for long.
  let last: WeakRef<Context> | undefined;
  return async (): Promise<{ readonly P: Context | null; readonly problem: string | null }> => {
    const key = view().head?.context ?? null;
    if (key === null) return { P: null, problem: null };
    const known = last?.deref();
    if (known?.key === key) return { P: known, problem: null };
    try {
      const P = await storedContext((await opened()).store, key);
      last = new WeakRef(P);
      return { P, problem: null };
    } catch (error) {
      if (!(error instanceof RlmError)) throw error;
      return { P: null, problem: `${error.code}: ${error.message}` };
    }
  };
}
