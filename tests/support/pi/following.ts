import type { Epoch } from "../../../src/pi/events.ts";
import { openOutside } from "../../../src/pi/externalize/follow.ts";
import type { PiMessage } from "../../../src/pi/externalize/message.ts";
import type { PiContext } from "../../../src/pi/host.ts";
import type { Talk } from "./conversation.ts";

/** The extension's side of a conversation whose model has a window of 8,000 tokens, unless told otherwise. */
export function following(
  self: Talk,
  { settings = {}, append = () => {}, window = 8000, reserve = 1000 }: FollowingOptions = {},
) {
  const told: string[] = [];
  const announced: Epoch[] = [];
  const model = { contextWindow: window, provider: "mock", id: "scripted" };
  const context = {
    ...{ cwd: "/project", model, getSystemPrompt: () => "You help." },
    ...{ ui: { notify: (text: string) => void told.push(text) }, sessionManager: { getBranch: () => self.branch } },
  };
  const outside = openOutside({
    context: () => Object.assign(Object.create(null), context) satisfies Partial<PiContext>,
    actions: {
      getActiveTools: () => ["read"],
      getAllTools: () => [{ name: "read", description: "Reads", parameters: {} }],
      appendEntry(customType, data) {
        append();
        self.branch.push({ type: "custom", customType, data });
      },
    },
    settings: () => ({ ...settings }),
    reserve: () => reserve,
    announced: (epoch) => void announced.push(epoch),
  });
  return { outside, told, announced };
}

export interface FollowingOptions {
  readonly settings?: object;
  readonly append?: () => void;
  /** Tokens of the model's window. */
  readonly window?: number;
  /** Tokens that Pi's settings keep free for an answer. */
  readonly reserve?: number | null;
}

/** Pi's wish to compact what lies before the entry `e8`. */
export const WISH = {
  ...{ reason: "overflow", firstKeptEntryId: "e8", tokensBefore: 7500, summaries: [], reserve: 1000 },
} as const;

export const OFF = { type: "custom", customType: "rlm_externalize", data: { v: 1, off: true } };

/** How many messages are stubs. */
export const stubsIn = (sent: readonly PiMessage[]) => JSON.stringify(sent).match(/RLM externalized/g)?.length ?? 0;
