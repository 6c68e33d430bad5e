import { type Conversations, openConversations } from "../../../src/pi/conversation.ts";
import { nextMessages, readOutside } from "../../../src/pi/externalize/branch.ts";
import { OUTSIDE_ENTRY } from "../../../src/pi/externalize/entries.ts";
import { type ObjectIds, rememberedIds } from "../../../src/pi/externalize/keys.ts";
import {
  type BranchEntry,
  callsOf,
  findCopies,
  messagesOf,
  type PiMessage,
} from "../../../src/pi/externalize/message.ts";

import { type NextRequest, nextRequest, type Rules } from "../../../src/pi/externalize/next-request.ts";
import { overviewOf } from "../../../src/pi/externalize/overview.ts";
import { NO_STATE } from "../../../src/pi/runs/board.ts";

/** A text block, as Pi has it. */
export const said = (text: string) => ({ type: "text", text }) as const;

/** A call of a tool, as Pi has it. */
export const called = (id: string, name = "read", args: object = { path: `${id}.txt` }) =>
  ({ type: "toolCall", id, name, arguments: args }) as const;

/** A conversation of Pi without Pi: its branch grows, and each request is decided on as the extension does it. */
export interface Talk {
  readonly branch: BranchEntry[];
  readonly ids: ObjectIds;
  rules: Rules;
  push(message: PiMessage): PiMessage;
  user(text: string): PiMessage;
  /** An answer of these blocks. */
  answer(...content: object[]): PiMessage;
  result(id: string, text: string, toolName?: string): PiMessage;
  /** The next request; what it wants written stands on the branch afterwards. */
  request(): NextRequest<PiMessage>;
  /** The messages that Pi has for the next request. */
  messages(): readonly PiMessage[];
}

export const RULES: Rules = {
  ...{ window: 8000, reserve: 1000, at: 0.6, to: 0.3, min: 200, manifest: 500, warm_turns: 3 },
  model: { provider: "mock", id: "scripted" },
};

export function talk(rules: Partial<Rules> = {}): Talk {
  const branch: BranchEntry[] = [];
  const ids = rememberedIds();
  let time = 1_700_000_000_000;
  const self: Talk = {
    branch,
    ids,
    rules: { ...RULES, ...rules },
    push(message) {
      time += 1000;
      const timed = { timestamp: time, ...message };
      branch.push({ type: "message", id: `e${branch.length}`, message: timed });
      return timed;
    },
    user: (text) => self.push({ role: "user", content: [said(text)] }),
    answer: (...content) =>
      self.push({ role: "assistant", content, stopReason: "stop", provider: "mock", model: "scripted" }),
    result: (toolCallId, text, toolName = "read") =>
      self.push({ role: "toolResult", toolCallId, toolName, content: [said(text)] }),
    // As for Pi, whose handlers get a copy each time.
    messages: () => structuredClone(nextMessages(branch)),
    request() {
      const messages = self.messages();
      findCopies(messages, messagesOf(branch));
      const outside = readOutside(branch);
      const next = nextRequest({ messages, branch, outside, base: 100, ids, rules: self.rules });
      for (const data of next.entries) {
        branch.push({ type: "custom", customType: OUTSIDE_ENTRY, data, id: `e${branch.length}` });
      }
      return next;
    },
  };
  return self;
}

/** So many characters that say where they are from. */
export function filler(name: string, chars: number): string {
  const line = `${name}: the quick brown fox jumps over the lazy dog\n`;
  return line.repeat(Math.ceil(chars / line.length)).slice(0, chars);
}

/** Turns of a prompt, a read and an answer; answers what each request was. */
export function readTurns(self: Talk, turns: number, chars = 3000, from = 0): readonly NextRequest<PiMessage>[] {
  return Array.from({ length: turns }, (_, n) => {
    const id = `call_${from + n}`;
    self.user(`What is in ${id}?`);
    const first = self.request();
    self.answer(called(id));
    self.result(id, filler(id, chars));
    const second = self.request();
    self.answer(said(`It is about ${id}.`));
    return [first, second];
  }).flat();
}

/** Pi's side of the conversation, on a branch that has no P. */
export function conversationsOf({ branch }: Talk): Conversations {
  return openConversations({
    context: () =>
      Object.assign(Object.create(null), {
        sessionManager: { getBranch: () => [...branch] },
        getContextUsage: () => undefined,
      }),
    answers: new Map(),
    opened: () => Promise.reject(new Error("the branch has no P")),
    view: () => ({ head: null }),
    outside: { overview: () => overviewOf(branch, rememberedIds()), size: () => ({ tokens: 700, window: 8000 }) },
    reading: () => Promise.reject(new Error("no model reads here")),
    board: { current: () => NO_STATE },
    settings: () => ({}),
  });
}

/** Results that do not stand behind the answer that made their call, before the next one, or that come twice. */
export function orphansIn(sent: readonly PiMessage[]): readonly PiMessage[] {
  let open: string[] = [];
  return sent.filter((message) => {
    if (message.role === "assistant") open = callsOf(message).map(({ id }) => id);
    if (message.role !== "toolResult") return false;
    const isOpen = open.includes(message.toolCallId ?? "");
    open = open.filter((id) => id !== message.toolCallId);
    return !isOpen;
  });
}
