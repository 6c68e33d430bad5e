import { createHash } from "node:crypto";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import * as v from "valibot";
import { openRoots } from "../../context/index.ts";
import { type Item, itemOf, SCORE_NAMES } from "../../eval/index.ts";
import { LIMITS } from "../../index.ts";
import { openFile } from "../../platform/bounded-reads.ts";
import { isHeld } from "../../platform/cell-json.ts";
import { outputFailed } from "../../platform/result-file.ts";
import type { WrittenNumber } from "../../platform/written-json.ts";
import { BadInput, contextPath, type Input, inputsOf, jsonLines } from "../../runs/index.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { type KnownSuite, publishedQuestion, suiteOf } from "./known-suites.ts";

/**
 * A question with the path of its context, relative to the folder in which the command was typed.
 */
export interface Placed extends Item {
  readonly file: string;
}

const text = v.pipe(v.string(), v.minLength(1));
/** One that JavaScript would round is a text: an answer has to contain its digits. */
const writtenNumber = v.pipe(
  v.custom<WrittenNumber>((value) => JSON.isRawJSON(value)),
  v.transform(({ rawJSON }) => (isHeld(rawJSON) ? Number(rawJSON) : rawJSON)),
);
const Line = v.object({
  question: text,
  answer: v.union([text, v.number(), writtenNumber, v.pipe(v.array(text), v.minLength(1))]),
  context: v.optional(text),
  file: v.optional(text),
  id: v.optional(text),
  suite: v.optional(text),
  size: v.optional(text, "-"),
  score: v.optional(v.picklist(SCORE_NAMES)),
});

/** The place of the texts of questions, and what ends the reading of them. */
interface Reading {
  readonly most: number | undefined;
  /** Folders into which the paths of questions may lead. */
  readonly roots: readonly string[];
  /** The folder for contexts that are texts. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Called for each question of a file: its name, and how many were read of it. */
  readonly onRead: (data: string, questions: number) => void;
}

/** The questions of files, and of which suite each file is. */
interface ReadQuestions {
  readonly items: readonly Placed[];
  /** `data.json: questions of LongBench v2`; none for questions in the form of Belay's own. */
  readonly known: readonly string[];
}

/**
 * Questions of files, with the contexts that they have as texts in `folder`. Paths in them may lead
 * there, as those of items.jsonl do, into the folder of their file, and into `roots`.
 *
 * @throws UsageError; BadInput for the first line that is wrong
 */
export async function dataItems(files: readonly string[], reading: Reading): Promise<ReadQuestions> {
  const items: Placed[] = [];
  const known: string[] = [];
  for (const data of files) {
    const before = items.length;
    if (!existsSync(data)) throw new UsageError(`--data ${data} does not exist`, HELP);
    const places = openRoots([dirname(data), reading.folder, ...reading.roots], process.cwd());
    let suite: KnownSuite | null = null;
    for await (const input of await inputsIn(data, reading.signal)) {
      if (items.length === before) suite = suiteOf(input);
      const { context, ...item } = suite ? publishedQuestion(suite, input) : ownQuestion(input, data, items.length);
      const texts = context === undefined ? null : new Map([["context.txt", context]]);
      const file = texts ? keepTexts(reading.folder, texts) : contextPath(input, "file", places);
      items.push({ ...item, file });
      reading.onRead(data, items.length - before);
      if (items.length === reading.most) break;
    }
    if (items.length === before) throw new UsageError(`--data ${data} has no line`, HELP);
    if (suite) known.push(`${data}: questions of ${suite.name}`);
    if (items.length === reading.most) break;
  }
  return { items, known };
}

/** JSON lines, unless the name of the file says that it is an array or a table. */
async function inputsIn(data: string, signal: AbortSignal): Promise<AsyncIterable<Input> | readonly Input[]> {
  const most = LIMITS.contextBytes;
  if (!TABLES.test(data)) return jsonLines(openFile(data), data, most);
  return (await inputsOf(data, signal, {}, { most })).all;
}

const TABLES = /\.(?:json|parquet|(?:jsonl|ndjson|json)\.(?:gz|zst))$/i;

/** A question in the form of Belay's own. @throws BadInput */
function ownQuestion(input: Input, data: string, before: number): Item & { readonly context?: string | undefined } {
  const { context, suite = basename(data, extname(data)), ...line } = questionIn(input);
  const { id = `${suite}-${before + 1}`, size, question, answer: expected } = line;
  const usual = typeof expected === "number" ? "count" : typeof expected === "string" ? "contains" : "f1";
  const { score = usual } = line;
  if (score === "count" && typeof expected !== "number") {
    const problem = 'has the score "count" and an answer that is no number';
    throw new BadInput(input.at, problem, "docs/eval.md has the scores.");
  }
  return { id, suite, size, question, expected, score, context };
}

/** @throws BadInput */
function questionIn({ at, value }: Input): v.InferOutput<typeof Line> {
  const read = v.safeParse(Line, value);
  if (read.success && (read.output.context ?? read.output.file) !== undefined) return read.output;
  const place = read.success ? "context or file" : (v.getDotPath(read.issues[0]) ?? "the line");
  throw new BadInput(at, `is not a question: ${place} is missing or wrong`, "docs/eval.md has the fields.");
}

export const HELP = commandLine(["help", "eval"]);

/** A question of a generated suite, with its context in the folder. */
export function madeItem(folder: string, ...asked: Parameters<typeof itemOf>): Placed {
  const { item, files } = itemOf(...asked);
  return { ...item, file: keepTexts(folder, files) };
}

/**
 * Writes the texts of a context into a folder of their hash, whole or not at all. Neither the suite
 * nor the question is in the path, which models are told. Gives the path to load.
 *
 * @throws RlmError `output_failed`
 */
function keepTexts(folder: string, files: ReadonlyMap<string, string>): string {
  const hash = createHash("sha256");
  for (const [path, content] of files) hash.update(`${path}\0${content}\0`);
  const place = join(folder, hash.digest("hex").slice(0, HASH_DIGITS));
  const [only = ""] = files.keys();
  const path = files.size === 1 ? join(place, only) : place;
  if (existsSync(place)) return path;
  const part = `${place}.${process.pid}.part`;
  try {
    for (const [name, content] of files) {
      mkdirSync(dirname(join(part, name)), { recursive: true });
      writeFileSync(join(part, name), content);
    }
    renameSync(part, place);
    return path;
  } catch (error) {
    rmSync(part, { recursive: true, force: true });
    throw outputFailed(place, error);
  }
}

const HASH_DIGITS = 16;
