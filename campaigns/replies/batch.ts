import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseJson } from "../../src/platform/json.ts";
import { commandHere } from "../../tests/support/command-here.ts";
import type { Case } from "./case.ts";
import { inOrder, type Place } from "./place.ts";
import { allTextOf, type Seen } from "./seen.ts";
import { type Asked, fieldOf } from "./server.ts";

/** A run that is not over by then is interrupted. */
const MOST_SECONDS = 12;

const SCRIPT = `await llm_query("Row " + job.row + ": what is it?", { tools: [] })`;

/** Rows of `belay batch` in this process, and what `belay jobs` says of them afterwards. */
export async function playBatch(one: Case, { server, folderOf }: Place): Promise<Seen> {
  const { rows = 1, byRow = {} } = one;
  const folder = folderOf(one.id);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "label.js"), SCRIPT);
  const lines = Array.from({ length: rows }, (_, row) => JSON.stringify({ id: `r${row}`, row }));
  writeFileSync(join(folder, "rows.jsonl"), lines.join("\n"));
  const next = inOrder(one);
  const asked = server.play(one.id, {
    reply: (request) => byRow[rowOf(request)] ?? next(request.index),
  });
  const surroundings = { cwd: folder, home: join(folder, "home") };
  const model = ["--model", `local/${one.id}`, "--base-url", server.urlOf(one.id)];
  const line = ["batch", "label.js", "--jobs", "rows.jsonl", "--name", "replies", "-o", "out.jsonl", ...model];
  const stopping = stopOnce(one);
  const ran = await commandHere(line, { ...surroundings, onWritten: stopping.look });
  stopping.end();
  const told = await commandHere(["jobs", "replies", "--json"], surroundings);
  const run = parseJson(told.stdout) ?? null;
  const countOf = (status: string) => Number(fieldOf(run, `run.jobs.${status}`));
  return {
    ...{ value: null, fails: null, warnings: [], asked },
    says: `${ran.stdout}\n${ran.stderr}\n${told.stdout}`,
    exit: ran.code,
    done: countOf("done"),
    failed: countOf("failed"),
  };
}

/** Interrupts a command that is to be interrupted once it has said what is expected, and any other after some seconds. */
function stopOnce({ expect: { says }, stopAfter }: Case) {
  const end = () => clearTimeout(timer);
  const stop = () => {
    end();
    process.emit("SIGINT");
  };
  const timer = setTimeout(stop, (stopAfter ?? MOST_SECONDS) * 1000);
  let isSaid = false;
  return {
    end,
    look(written: string) {
      if (isSaid || stopAfter === undefined || says === undefined) return;
      isSaid = new RegExp(says, "is").test(written);
      if (isSaid) stop();
    },
  };
}

const rowOf = (request: Asked) => allTextOf(request).match(/Row (\d+):/)?.[1] ?? "";
