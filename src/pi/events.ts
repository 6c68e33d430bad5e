import type { EventBus } from "./host.ts";
import type { RunningState, ToolDetails } from "./runs/board.ts";

/** Events that other extensions of Pi can listen for: `pi.events.on("rlm:externalize", …)`. */
export interface Announcements {
  epoch(epoch: Epoch): void;
  /** A call of a tool that asks models. */
  queryStarted(query: QueryStart): void;
  queryEnded(query: QueryStart, options: ToolDetails): void;
}

/** Old texts went outside. */
export interface Epoch {
  /** Its number on the branch, from 1. */
  readonly epoch: number;
  /** Texts that are outside behind it. */
  readonly objects: number;
  /** By how many tokens the next request is smaller. */
  readonly tokens: number;
}

type QueryStart = Pick<RunningState, "tool" | "tool_call_id">;

const ASKING: readonly string[] = ["rlm_query", "rlm_ask", "rlm_batch", "rlm_extract"];

/** Announces on Pi's bus. Nothing here throws: what others do with it must not end a call. */
export function announcementsOn(bus: EventBus): Announcements {
  const emit = (channel: string, data: object) => {
    try {
      bus.emit(channel, data);
    } catch {
      // A listener of another extension failed.
    }
  };
  return {
    epoch: (epoch) => emit("rlm:externalize", epoch),
    queryStarted(query) {
      if (ASKING.includes(query.tool)) emit("rlm:query:start", query);
    },
    queryEnded(query, { envelope, calls, elapsed_ms }) {
      if (!ASKING.includes(query.tool)) return;
      const { success, error_code = null } = envelope;
      const { count, tokens, cost_usd } = calls;
      emit("rlm:query:end", { ...query, success, error_code, sub_calls: count, tokens, cost_usd, elapsed_ms });
    },
  };
}
