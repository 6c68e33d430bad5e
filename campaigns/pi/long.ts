import { join } from "node:path";
import { ROOT } from "../../scripts/process.ts";
import { TEST_EXTENSION } from "../../tests/support/command.ts";
import { type ScriptedAnswer, type SeenRequest, startModelServer } from "../../tests/support/model-server.ts";
import { type PiHome, piHome } from "../../tests/support/pi/home.ts";
import { entriesIn, type Pi, type PiLine, startPi } from "../../tests/support/pi/process.ts";
import { seededRandom } from "../../tests/support/seeded-random.ts";
import { type Hardship, undergo } from "./hardships.ts";
import { type Recall, recall, recallCalls } from "./recall.ts";

/** What keeps a long conversation within the window. */
export type Strategy = "nothing" | "seed" | "belay";

export interface LongOptions {
  readonly line: PiLine;
  readonly strategy: Strategy;
  /** Each is a prompt, a file that is read, and an answer: two requests. */
  readonly turns: number;
  /** Tokens of the model's window; a request of more is refused. */
  readonly window: number;
  readonly seed: number;
  /** What the conversation goes through after the talk, in this order, if Belay keeps it. */
  readonly hardships: readonly Hardship[];
  /** Parts of Pi's settings of compaction that differ. */
  readonly compaction?: { readonly keepRecentTokens: number };
}

/** What a conversation came to. Requests are those of the conversation; summaries that Pi asks for are not among them. */
export interface LongReport {
  readonly requests: number;
  readonly refused: number;
  /** Requests that do not go on from the one before, byte for byte. */
  readonly breaks: number;
  /** What lies behind the part that a request shares with the one before. */
  readonly uncachedKB: number;
  /** Tokens: characters / 4 of the request's JSON. */
  readonly largest: number;
  readonly compactions: number;
  readonly entries: number;
  /** The facts that were found again behind each hardship; there is one fact in each file. */
  readonly found: { readonly [hardship in Hardship]?: Recall };
}

/** Runs a real Pi through a long conversation with a scripted model that counts and refuses. */
export async function longTalk(options: LongOptions): Promise<LongReport> {
  const { line, strategy, turns, window, seed, hardships, compaction } = options;
  await using scene = await longScene(turns, window, seed, compaction);
  const start = (session?: string) =>
    startPi(line, { home: scene.home, extensions: EXTENSIONS[strategy], ...(session && { session }) });
  let pi = start();
  try {
    for (let n = 0; n < turns; n++) await pi.prompt(promptOf(n));
    const report = scene.report();
    const written = entriesIn(await pi.sessionFile());
    const found: { [hardship in Hardship]?: Recall } = {};
    let next = turns;
    const turn = (of: Pi) => of.prompt(promptOf(next++));
    for (const hardship of strategy === "belay" ? hardships : []) {
      pi = await undergo(hardship, pi, { start, turn });
      found[hardship] = await recall(pi, scene.facts);
    }
    return {
      ...report,
      compactions: written.filter(({ type }) => type === "compaction").length,
      entries: written.filter(({ customType }) => customType === "rlm_externalize").length,
      found,
    };
  } finally {
    await pi.kill();
  }
}

/** A home with a file for each turn, and the model that is asked there. */
export interface LongScene extends AsyncDisposable {
  readonly home: PiHome;
  readonly facts: readonly string[];
  /** What the newest request sent, as text: tools, then messages. */
  newest(): string;
  report(): Pick<LongReport, "requests" | "refused" | "breaks" | "uncachedKB" | "largest">;
}

/** Files for turns that follow the talk. */
const SPARE = 60;

/** Models that a conversation may change to; that with no usage does not say what it has counted. */
const OTHER_MODELS = {
  small: { contextWindow: 12_000 },
  no_usage: {},
  system_in_place: { compat: { supportsMidConvoSystemMessages: true } },
};

/** `compaction`: what differs in Pi's settings of it. */
export async function longScene(turns: number, window: number, seed: number, compaction = {}): Promise<LongScene> {
  const random = seededRandom(seed);
  const facts = Array.from({ length: turns }, (_, n) => `FACT-${n}-${Math.floor(random() * 1e9).toString(36)}`);
  const texts = facts.map((fact) => fileWith(fact, 1500 + random() * 5000));
  const spare = Array.from({ length: SPARE }, (_, n) => fileWith(`SPARE-${n}`, 4000));
  const files = Object.fromEntries([...texts, ...spare].map((text, n) => [`f${n}.txt`, text]));
  const meter = openMeter(window);
  const server = await startModelServer((request) => meter.answer(request));
  const piSettings = { compaction: { enabled: true, ...compaction } };
  const home = piHome({ url: server.url, files, window, piSettings, models: OTHER_MODELS });
  return {
    home,
    facts,
    newest: meter.newest,
    report: meter.report,
    async [Symbol.asyncDispose]() {
      await server.close();
      home[Symbol.dispose]();
    },
  };
}

const EXTENSIONS: { readonly [strategy in Strategy]: readonly string[] } = {
  nothing: [],
  seed: [join(ROOT, "campaigns/pi/seed-rule.ts")],
  belay: [TEST_EXTENSION],
};

export const promptOf = (n: number, ...others: readonly number[]) =>
  `Turn ${n}: read ${[n, ...others].map((file) => `f${file}.txt`).join(", ")} and say what it is about.`;

/** A prompt that is never answered to its end. */
export const UNANSWERED = "Say nothing more.";

function fileWith(fact: string, chars: number): string {
  const lines: string[] = [];
  let length = 0;
  for (let n = 0; length < chars; n++) {
    const line = `${n} ${fact.length * n} the quick brown fox jumps over the lazy dog\n`;
    lines.push(line);
    length += line.length;
  }
  lines.splice(Math.floor(lines.length / 2), 0, `the fact is ${fact}\n`);
  return lines.join("");
}

/** Answers requests, and measures them. */
function openMeter(large: number) {
  let [requests, refused, breaks, uncached, largest] = [0, 0, 0, 0, 0];
  let before = "";
  return {
    answer(request: SeenRequest): ScriptedAnswer {
      const tokens = Math.ceil(request.sent.length / 4);
      const { model } = request.body;
      const window = model === "small" ? OTHER_MODELS.small.contextWindow : large;
      const isSummary = JSON.stringify(request.body.messages.at(-1)?.content ?? "").includes("</conversation>");
      if (!isSummary) {
        const sent = [request.body.tools, ...request.body.messages].map((part) => JSON.stringify(part)).join("\n");
        const shared = sharedLength(before, sent);
        requests++;
        if (shared < before.length) breaks++;
        uncached += sent.length - shared;
        largest = Math.max(largest, tokens);
        before = sent;
        if (tokens > window) refused++;
      }
      // Pi asks for a long summary, and providers count what they are asked for.
      const wanted = tokens + (isSummary ? (request.body.max_completion_tokens ?? 0) : 0);
      if (wanted > window) return { status: 400, body: tooLong(wanted, window) };
      const usage = model === "no_usage" ? null : { prompt: tokens, completion: 20 };
      return isSummary ? { text: "## Goal\nFiles are read.", usage } : { ...turnOf(request), usage };
    },
    newest: () => before,
    report: () => ({ requests, refused, breaks, uncachedKB: Math.round(uncached / 1000), largest }),
  };
}

/** A prompt that names files is answered by reading them, and one that asks to find something by looking for it. */
function turnOf({ index, prompt, body }: SeenRequest): ScriptedAnswer {
  const id = `call_${index}`;
  if (body.messages.at(-1)?.role !== "user") return { text: "It is about a fox and a dog." };
  if (textOf(prompt) === UNANSWERED) return { text: "I was about to", end: "stuck" };
  const files = /^Turn \d+: read ([^ ]+(, [^ ]+)*) and/.exec(textOf(prompt))?.[1]?.split(", ") ?? [];
  const read = (path: string, n: number) => ({ id: `${id}_${n}`, name: "read", arguments: { path } });
  if (files.length > 0) return { tools: files.map(read) };
  return recallCalls(textOf(prompt), id) ?? { text: "done" };
}

/** Text of a content in either of its forms, which the server gives as JSON if it is not a string. */
function textOf(prompt: string): string {
  if (!prompt.startsWith("[")) return prompt;
  const parts: readonly { readonly text?: string }[] = JSON.parse(prompt);
  return parts.map(({ text = "" }) => text).join("");
}

function sharedLength(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  for (let at = 0; at < most; at++) if (a.charCodeAt(at) !== b.charCodeAt(at)) return at;
  return most;
}

function tooLong(tokens: number, window: number): string {
  const message = `This model's maximum context length is ${window} tokens. However, your messages resulted in ${tokens} tokens.`;
  return JSON.stringify({ error: { message, code: "context_length_exceeded" } });
}
