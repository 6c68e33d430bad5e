import { createReadStream } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Json } from "../../index.ts";
import type { Ids } from "./ids.ts";
import type { Input } from "./jsonl.ts";
import { linesOf } from "./lines.ts";

/** A job as it was read: checked, with its id. */
export interface ReadJob {
  readonly id: string;
  readonly input: Json;
  /** Path of its own context; null: it has none. */
  readonly context: string | null;
}

/** All jobs of a command in a temporary file: stdin can be read only once, and nothing is submitted before all are right. */
export interface Spool extends AsyncDisposable {
  readonly count: number;
  jobs(): AsyncIterable<ReadJob>;
}

/** @param contextOf the path of an input's own context @throws BadLine */
export async function spool(
  inputs: AsyncIterable<Input> | Iterable<Input>,
  idOf: Ids,
  contextOf: (input: Input) => string | null,
): Promise<Spool> {
  const folder = await mkdtemp(join(tmpdir(), "belay-batch-"));
  const path = join(folder, "jobs.jsonl");
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    await using file = await open(path, "wx", 0o600);
    let count = 0;
    let held = "";
    for await (const input of inputs) {
      const job: ReadJob = { id: idOf(input), input: input.value, context: contextOf(input) };
      held += `${JSON.stringify(job)}\n`;
      count += 1;
      if (held.length < WRITE_UNITS) continue;
      await file.write(held);
      held = "";
    }
    await file.write(held);
    return { count, jobs: () => readBack(path), [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

const WRITE_UNITS = 2 ** 16;

async function* readBack(path: string): AsyncIterable<ReadJob> {
  for await (const { text } of linesOf(createReadStream(path), path, Number.POSITIVE_INFINITY)) {
    const job: ReadJob = JSON.parse(text);
    yield job;
  }
}
