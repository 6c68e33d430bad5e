import { join } from "node:path";
import { ROOT } from "../../scripts/process.ts";
import { TEST_EXTENSION } from "../../tests/support/command.ts";
import { type ScriptedAnswer, type SeenRequest, startModelServer } from "../../tests/support/model-server.ts";
import { type PiHome, piHome } from "../../tests/support/pi-home.ts";
import { entriesIn, type Pi, type PiLine, startPi } from "../../tests/support/pi-process.ts";
import { seededRandom } from "../../tests/support/seeded-random.ts";

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
  /** Of the facts that stand in the files, one in each: those that rlm_search finds in the end; null without Belay. */
  readonly found: number | null;
}

/** Runs a real Pi through a long conversation with a scripted model that counts and refuses. */
export async function longTalk({ line, strategy, turns, window, seed }: LongOptions): Promise<LongReport> {
  await using scene = await longScene(turns, window, seed);
  const { facts, home } = scene;
  await using pi = startPi(line, { home, extensions: EXTENSIONS[strategy] });
  for (let n = 0; n < turns; n++) await pi.prompt(promptOf(n));
  const report = scene.report();
  const written = entriesIn(await pi.sessionFile());
  const found = strategy === "belay" ? await foundAgain(pi, facts) : null;
  return {
    ...report,
    compactions: written.filter(({ type }) => type === "compaction").length,
    entries: written.filter(({ customType }) => customType === "rlm_externalize").length,
    found,
  };
}

/** A home with a file for each turn, and the model that is asked there. */
export interface LongScene extends AsyncDisposable {
  readonly home: PiHome;
  readonly facts: readonly string[];
  /** What the newest request sent, as text: tools, then messages. */
  newest(): string;
  report(): Pick<LongReport, "requests" | "refused" | "breaks" | "uncachedKB" | "largest">;
}

export async function longScene(turns: number, window: number, seed: number): Promise<LongScene> {
  const random = seededRandom(seed);
  const facts = Array.from({ length: turns }, (_, n) => `FACT-${n}-${Math.floor(random() * 1e9).toString(36)}`);
  const files = Object.fromEntries(facts.map((fact, n) => [`f${n}.txt`, fileWith(fact, 1500 + random() * 5000)]));
  const meter = openMeter(window);
  const server = await startModelServer((request) => meter.answer(request));
  const home = piHome({ url: server.url, files, window, piSettings: { compaction: { enabled: true } } });
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

export const promptOf = (n: number) => `Turn ${n}: read f${n}.txt and say what it is about.`;

const FIND = "Find these:";
const AT_ONCE = 10;

/** Has the model search for each fact; answers how many it was shown in the line that the file has. */
async function foundAgain(pi: Pi, facts: readonly string[]): Promise<number> {
  for (let at = 0; at < facts.length; at += AT_ONCE) {
    await pi.prompt(`${FIND} ${facts.slice(at, at + AT_ONCE).join(" ")}`);
  }
  const results = entriesIn(await pi.sessionFile()).flatMap(({ message }) =>
    message?.role === "toolResult" ? [JSON.stringify(message.content)] : [],
  );
  const searches = results.slice(-facts.length);
  return facts.filter((fact, n) => searches[n]?.includes(`the fact is ${fact}`)).length;
}

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
function openMeter(window: number) {
  let [requests, refused, breaks, uncached, largest] = [0, 0, 0, 0, 0];
  let before = "";
  return {
    answer(request: SeenRequest): ScriptedAnswer {
      const tokens = Math.ceil(request.sent.length / 4);
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
      if (tokens > window) return { status: 400, body: tooLong(tokens, window) };
      const usage = { prompt: tokens, completion: 20 };
      return isSummary ? { text: "## Goal\nFiles are read.", usage } : { ...turnOf(request), usage };
    },
    newest: () => before,
    report: () => ({ requests, refused, breaks, uncachedKB: Math.round(uncached / 1000), largest }),
  };
}

/** A prompt that names a file is answered by reading it, and one that asks to find something by a search. */
function turnOf({ index, prompt, body }: SeenRequest): ScriptedAnswer {
  const id = `call_${index}`;
  const [, file] = /^Turn \d+: read (f\d+\.txt)/.exec(textOf(prompt)) ?? [];
  if (body.messages.at(-1)?.role !== "user") return { text: "It is about a fox and a dog." };
  if (file !== undefined) return { tools: [{ id, name: "read", arguments: { path: file } }] };
  if (textOf(prompt).startsWith(FIND)) {
    const words = textOf(prompt).slice(FIND.length).trim().split(" ");
    return { tools: words.map((pattern, n) => ({ id: `${id}_${n}`, name: "rlm_search", arguments: { pattern } })) };
  }
  return { text: "done" };
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
