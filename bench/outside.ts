import { type Outside, openOutside } from "../src/pi/externalize/follow.ts";
import type { PiMessage } from "../src/pi/externalize/message.ts";
import type { PiContext } from "../src/pi/host.ts";
import { called, filler, said, type Talk, talk } from "../tests/support/pi/conversation.ts";
import { type Contestant, type Measured, p99, takeTurns, timed } from "./measure.ts";
import type { Report } from "./report.ts";
import { size } from "./size.ts";

const SIZES = size([200, 800, 2000], [20]);
/** Tokens; texts go out about once in 35 requests. */
const WINDOW = 64_000;
/** The longest that Pi may wait before 99 of 100 requests, ms. */
const MOST_MS = 100;

/** Pi's hook before each request of a long conversation, next to the copy of the messages that Pi makes for it. */
export async function benchOutside(): Promise<Report> {
  const found = [];
  for (const size of SIZES) {
    const chat = longChat(size);
    const next = await takeTurns(requests(chat), { rounds: 300, warmups: 20 });
    const first = await takeTurns(firstRequests(chat), { rounds: 15, warmups: 2 });
    found.push({ size, next, first });
  }
  return {
    title: `outside: what Pi waits for before each request, with a window of ${WINDOW.toLocaleString("en-US")} tokens`,
    cases: found.flatMap(({ size, next, first }) => [
      { name: `${size} messages`, measured: next, remarks: { Belay: `p99 ${slowest(next)}` } },
      { name: `${size} messages, a process's first`, measured: first },
    ]),
    notes: [
      "A turn is a prompt, a read of 1.5 to 6.5 KB and an answer. Texts went outside, and turns were folded, before.",
      "Pi itself makes a structuredClone of the same messages before it calls the hook.",
    ],
    aims: found.map(({ size, next }) => {
      const text = `99 of 100 requests at ${size} messages ≤ ${MOST_MS} ms`;
      return { text, value: slowest(next), met: p99(next[0]?.samples ?? []) <= MOST_MS };
    }),
  };
}

const slowest = ([belay]: readonly Measured[]) => `${p99(belay?.samples ?? []).toFixed(1)} ms`;

/** A conversation that goes on, request by request. */
interface Chat {
  readonly self: Talk;
  /** Says what comes before the next request, and answers the messages that Pi has for it. */
  next(): readonly PiMessage[];
  /** The provider counts what it was sent. */
  counted(sent: readonly PiMessage[]): void;
}

/** Requests are decided on so often while a conversation grows to its size; each would take long. */
const DECIDED_EVERY = 8;

function longChat(size: number): Chat {
  const chat = newChat();
  const outside = outsideOf(chat.self);
  for (let n = 0; chat.self.branch.length < size; n++) {
    const messages = chat.next();
    if (n % DECIDED_EVERY === 0) chat.counted(outside.sent(messages));
  }
  return chat;
}

function newChat(): Chat {
  const self = talk();
  let n = 0;
  let usage = {};
  const answer = (...content: object[]) => {
    self.push({ role: "assistant", content, stopReason: "stop", provider: "mock", model: "scripted", ...usage });
    usage = {};
  };
  return {
    self,
    next() {
      const id = `call_${Math.floor(n / 2)}`;
      if (n % 2 === 0) {
        if (n > 0) answer(said("It is about foxes and dogs, and says so many times."));
        self.user(`What is in ${id}.txt?`);
      } else {
        answer(called(id));
        self.result(id, filler(id, 1500 + ((n * 977) % 5000)));
      }
      n++;
      return self.messages();
    },
    counted(sent) {
      usage = { usage: { totalTokens: Math.ceil(JSON.stringify(sent).length / 4) } };
    },
  };
}

/** The next request of the conversation, which stays about as long as it is. */
function requests(chat: Chat): readonly Contestant[] {
  const { branch } = chat.self;
  const size = branch.length;
  let outside = outsideOf(chat.self);
  let messages: readonly PiMessage[] = [];
  return [
    {
      name: "Belay",
      async once() {
        if (branch.length > size * 1.1) {
          branch.length = size;
          outside = outsideOf(chat.self);
          outside.sent(chat.self.messages());
        }
        messages = chat.next();
        let sent: readonly PiMessage[] = [];
        const ms = await timed(() => {
          sent = outside.sent(messages);
        });
        chat.counted(sent);
        return ms;
      },
    },
    cloning(() => messages),
  ];
}

/** The first request of a process that comes to the conversation: nothing of it is remembered. */
function firstRequests({ self }: Chat): readonly Contestant[] {
  return [
    {
      name: "Belay",
      async once() {
        const outside = outsideOf({ branch: structuredClone(self.branch) });
        const messages = self.messages();
        return timed(() => outside.sent(messages));
      },
    },
    cloning(self.messages),
  ];
}

const cloning = (messages: () => readonly PiMessage[]): Contestant => ({
  name: "structuredClone",
  async once() {
    const given = messages();
    return timed(() => structuredClone(given));
  },
});

/** The extension's side of the conversation, in a process of its own. */
function outsideOf({ branch }: Pick<Talk, "branch">): Outside {
  const context = {
    cwd: "/project",
    ui: { notify: (text: string) => void process.stderr.write(`${text}\n`) },
    sessionManager: { getBranch: () => [...branch] },
    model: { contextWindow: WINDOW, provider: "mock", id: "scripted" },
    getSystemPrompt: () => "You help.".repeat(500),
  };
  return openOutside({
    context: () => Object.assign(Object.create(null), context) satisfies Partial<PiContext>,
    actions: {
      getActiveTools: () => ["read"],
      getAllTools: () => [{ name: "read", description: "Reads", parameters: {} }],
      appendEntry: (customType, data) => void branch.push({ type: "custom", customType, data }),
    },
    settings: () => ({}),
    reserve: () => null,
    announced() {},
  });
}
