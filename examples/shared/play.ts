import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { type AskEnvelope, type ContextStats, openSession, type SessionOptions } from "../../src/index.ts";
import { amount } from "../../src/platform/figures.ts";
import { startModelServer } from "../../tests/support/model-server.ts";
import { seededRandom } from "../../tests/support/seeded-random.ts";
import type { Check, Example } from "./example.ts";

/** Which model is asked; none: the script of the example. */
export interface Asked {
  readonly model?: string;
  readonly subModel?: string;
  readonly baseUrl?: string;
  readonly seed?: number;
}

export interface Played {
  readonly envelope: AskEnvelope;
  readonly stats: ContextStats;
  readonly checks: readonly Check[];
}

/** The program of an example: asks, prints, and ends with 1 if the answer is not what the generator knows. */
export async function main<Truth>(example: Example<Truth>): Promise<void> {
  const { values } = parseArgs({
    options: {
      model: { type: "string" },
      "sub-model": { type: "string" },
      "base-url": { type: "string" },
      seed: { type: "string", default: "1" },
      help: { type: "boolean" },
    },
  });
  if (values.help) return console.log(USAGE);
  const { model, "sub-model": subModel, "base-url": baseUrl, seed } = values;
  const played = await play(example, {
    ...(model === undefined ? {} : { model }),
    ...(subModel === undefined ? {} : { subModel }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    seed: Number(seed),
  });
  for (const line of reportOf(example.question, played)) console.log(line);
  process.exitCode = played.checks.length > 0 && played.checks.every(({ isTrue }) => isTrue) ? 0 : 1;
}

const USAGE = `--model PROVIDER/ID      asks a real model, with your key in its usual variable
--sub-model PROVIDER/ID  another one for the sub-calls of cells
--base-url URL           a server of your own that speaks OpenAI's protocol
--seed N                 other data (default 1)
Without --model a script on loopback answers in place of a model.`;

/** Makes the data in a temporary folder, loads it and asks. */
export async function play<Truth>(example: Example<Truth>, { seed = 1, ...asked }: Asked): Promise<Played> {
  const { files, truth } = example.make(seededRandom(seed));
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "belay-example-")));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    await using server = asked.model === undefined ? await startModelServer(example.script) : null;
    const { subModel, ...real } = asked;
    const options: SessionOptions = server ? { model: "scripted/model", baseUrl: server.url } : real;
    await using session = await openSession({ ...options, cwd: folder });
    const { stats } = await session.load(folder);
    const { question, schema } = example;
    const envelope = await session.ask(question, { schema, ...(subModel === undefined ? {} : { subModel }) });
    return { envelope, stats, checks: envelope.success ? example.check(envelope, truth) : [] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the program prints, line by line. */
export function* reportOf(question: string, { envelope, stats, checks }: Played): Generator<string> {
  const number = (value: number) => value.toLocaleString("en-US");
  yield `question  ${question}`;
  yield `P         ${amount(stats.length_chars, "character")} in ${amount(stats.document_count, "document")}`;
  if (envelope.success) {
    yield `answer    ${inPart(JSON.stringify(envelope.answer))}`;
    for (const { doc, line, quote } of envelope.citations) yield `source    ${doc}:${line} ${JSON.stringify(quote)}`;
  } else yield `no answer ${envelope.error_code}: ${envelope.error_message} ${envelope.suggestion}`;
  for (const { what, isTrue } of checks) yield `${isTrue ? "true     " : "NOT TRUE "} ${what}`;
  const { turns, cells, sub_calls, children, usage } = envelope;
  const read = usage.input + usage.cache_read + usage.cache_write;
  const took = [amount(turns, "turn"), amount(cells, "cell"), amount(sub_calls, "sub-call")];
  const ofChildren = children > 0 ? [`${amount(children, "child", "children")} among them`] : [];
  yield `took      ${[...took, ...ofChildren, `${number(read)} tokens in`, `${number(usage.output)} out`].join(", ")}`;
}

/** A long answer is shown in part: it is checked whole. */
function inPart(text: string): string {
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}… (${text.length.toLocaleString("en")} characters)`;
}

const SHOWN = 300;
