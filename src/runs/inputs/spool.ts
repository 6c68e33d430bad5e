import { hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { canonicalJson, cellJson } from "../../platform/cell-json.ts";
import { isRecord } from "../../platform/json.ts";
import { temporaryFolder } from "../../platform/make-folder.ts";
import { fieldOf, isNumber } from "../../platform/written-json.ts";
import { type Choice, chosenAmong } from "./chosen.ts";
import { BadInput, type Input, linesOf } from "./lines.ts";

/** A job as it was read: checked, with its id. */
interface ReadJob {
  readonly id: string;
  /** JSON. */
  readonly input: string;
  /** Path of its own context; null: it has none. */
  readonly context: string | null;
}

/**
 * All jobs of a command in a temporary file: stdin can be read only once, and nothing is submitted
 * before all are right.
 */
export interface Spool extends Disposable {
  readonly count: number;
  /** The number of inputs that were read, of which `count` are chosen. */
  readonly read: number;
  /** The first fields with numbers that cells get as texts. */
  readonly asText: readonly string[];
  /** Inputs with fields that are named by a hash. */
  readonly hashed: Hashed;
  jobs(): AsyncIterable<ReadJob>;
}

/**
 * @param contextOf the path of an input's own context
 * @throws BadInput, and what {@link chosenAmong} throws
 */
export async function spool(
  inputs: AsyncIterable<Input> | Iterable<Input>,
  idOf: IdOf,
  contextOf: (input: Input) => string | null,
  choice: Choice = {},
): Promise<Spool> {
  const folder = temporaryFolder("belay-batch-");
  const path = join(folder.path, "jobs.jsonl");
  try {
    await using file = await open(path, "wx", 0o600);
    const asText = new Set<string>();
    let read = 0;
    let count = 0;
    let held = "";
    async function* jobs(): AsyncIterable<{ readonly at: string; readonly job: ReadJob }> {
      for await (const input of inputs) {
        read += 1;
        const { at, value } = input;
        yield { at, job: { id: idOf(input), input: JSON.stringify(value), context: contextOf(input) } };
      }
    }
    for await (const { job } of chosenAmong(jobs(), choice)) {
      for (const field of cellJson(job.input).asText) if (asText.size < MOST_NAMED) asText.add(field || "job");
      held += `${JSON.stringify(job)}\n`;
      count += 1;
      if (held.length < PIECE) continue;
      await file.write(held);
      held = "";
    }
    await file.write(held);
    const dispose = folder[Symbol.dispose];
    const hashed = idOf.hashed();
    return { count, read, asText: [...asText], hashed, jobs: () => readBack(path), [Symbol.dispose]: dispose };
  } catch (error) {
    folder[Symbol.dispose]();
    throw error;
  }
}

/** Fields that are named for all jobs. */
const MOST_NAMED = 5;

/**
 * Read and written in small pieces: memory that a large run needed for a moment would stay with the
 * process.
 */
const PIECE = 2 ** 13;

async function* readBack(path: string): AsyncIterable<ReadJob> {
  const pieces = createReadStream(path, { highWaterMark: PIECE });
  for await (const { text } of linesOf(pieces, path, Number.POSITIVE_INFINITY)) {
    const job: ReadJob = JSON.parse(text);
    yield job;
  }
}

const ID_UNITS = 200;
const HASH_DIGITS = 16;

/**
 * Makes the function that gives each input the id of its job. It throws BadInput for an id that
 * cannot be one, or is given twice.
 *
 * @param named the field that `--id` names, which each input must have; `none`: all are numbered;
 * null: the `usual` one if there is one, else the number of a table's row or a hash
 * @param usual `path` of files, whose paths may be no ids; `id` of others
 */
export function openIds(named: string | null, usual: "id" | "path"): IdOf {
  const taken = new Map<string, string>();
  const sameHash = new Map<string, number>();
  let count = 0;
  let hashed = 0;
  let field: string | null = null;
  const givenIdOf = (input: Input): string | null => {
    if (named === NO_ID) return String(count);
    if (named === null && usual === "path") return pathId(input);
    const numbered = named === null && input.row !== undefined ? String(input.row) : null;
    return givenId(input, named) ?? numbered;
  };
  const idOf = (input: Input): string => {
    count += 1;
    const given = givenIdOf(input);
    if (given === null && isRecord(input.value) && !isNumber(input.value)) {
      hashed += 1;
      field ??= Object.keys(input.value)[0] ?? null;
    }
    const id = given ?? freeId(digitsOf(input), taken, sameHash);
    const first = taken.get(id);
    if (first !== undefined) {
      const problem = `has the id ${JSON.stringify(id)}, and so has ${first}`;
      throw new BadInput(input.at, problem, ONCE);
    }
    taken.set(id, input.at);
    return id;
  };
  return Object.assign(idOf, { hashed: () => ({ count: hashed, field }) });
}

/** Gives each input its id. `hashed` tells of those so far that are named by a hash. */
interface IdOf {
  (input: Input): string;
  hashed(): Hashed;
}

/**
 * The number of inputs with fields that are named by a hash, and the first field of the first;
 * null: none has a field.
 */
interface Hashed {
  readonly count: number;
  readonly field: string | null;
}

/** Numbers jobs, whatever fields they have. */
const NO_ID = "none";
const ONCE = "Ids name jobs: each is given once. --id FIELD names another field, and --id none numbers the jobs.";

const digitsOf = ({ value }: Input) => hash("sha256", canonicalJson(value) ?? "").slice(0, HASH_DIGITS);

function givenId({ at, value }: Input, named: string | null): string | null {
  const field = named ?? "id";
  const given = fieldOf(value, field);
  if (given === undefined || given === null) {
    if (named === null) return null;
    throw new BadInput(at, `has no field ${JSON.stringify(named)}, which --id names`);
  }
  // A number has one text, however it was written: 7 and 7.0 are one id.
  const id = isNumber(given) ? canonicalJson(given) : given;
  if (typeof id === "string" && isId(id)) return id;
  const takes = `it is a number, or 1 to ${ID_UNITS} characters without control characters`;
  throw new BadInput(
    at,
    `has ${JSON.stringify(field)} that cannot be an id: ${takes}`,
    "Name another field with --id; --id none numbers the jobs.",
  );
}

function pathId({ value }: Input): string | null {
  const path = fieldOf(value, "path");
  return typeof path === "string" && isId(path) ? path : null;
}

const isId = (text: string) => text.length >= 1 && text.length <= ID_UNITS && !/[\p{Cc}\p{Cs}]/u.test(text);

/** Equal inputs are told apart by their number: `…`, `…-2`, `…-3`. */
function freeId(hash: string, taken: ReadonlyMap<string, string>, sameHash: Map<string, number>): string {
  for (let count = (sameHash.get(hash) ?? 0) + 1; ; count++) {
    const id = count === 1 ? hash : `${hash}-${count}`;
    if (taken.has(id)) continue;
    sameHash.set(hash, count);
    return id;
  }
}
