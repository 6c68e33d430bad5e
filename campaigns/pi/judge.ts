import { isDeepStrictEqual } from "node:util";
import { openStore } from "../../src/store/open.ts";
import { findingsIn } from "../../src/store/whole-reads.ts";
import { cellResult, toldOf } from "../../tests/support/pi/cells.ts";
import { entriesIn } from "../../tests/support/pi/process.ts";
import { mirrored, type PiScene, resultsOnDisk } from "../../tests/support/pi/scene.ts";

/** Prompts whose answer the store had when a process died, and how often they had been asked by then. */
export type Settled = Map<string, number>;

/** What is wrong with a session whose processes were killed: a last process recovers it, then its traces are compared. */
export async function judged(
  { model, home, start }: PiScene,
  file: string,
  cells: number,
  settled: Settled,
): Promise<readonly string[]> {
  const last = start(file);
  await last.prompt(model.plan("wrap up"));
  const findings = last.events
    .filter(({ type }) => type === "extension_error" || type === "not_json")
    .map((event) => JSON.stringify(event));
  await last.kill();

  const begun = begunCells(file);
  const request = model.turns().at(-1);
  for (let n = 0; n < cells; n++) {
    const told = toldOf(request, n);
    const before = begun.filter((other) => other < n).length;
    const expected = begun.includes(n) ? [cellResult(n, before)] : ["No result provided", undefined];
    if (expected.some((one) => isDeepStrictEqual(one, told))) continue;
    findings.push(`cell ${n}: the model is told ${JSON.stringify(told)}, not ${JSON.stringify(expected[0])}`);
  }
  for (const [prompt, asked] of settled) {
    const again = model.subCalls().filter((text) => text === prompt).length - asked;
    if (again > 0) findings.push(`"${prompt}" was asked again, though its answer was kept`);
  }
  for (const [id, texts] of resultsOnDisk(file)) {
    if (texts.length > 1) findings.push(`${id} has ${texts.length} results`);
  }
  const completed = mirrored(file, "rlm_complete").map(({ data }) => data?.exec_id);
  if (new Set(completed).size < completed.length) findings.push("an exec has two entries for its end");
  if (completed.length !== begun.length + 1) findings.push(`${completed.length} ends for ${begun.length + 1} execs`);
  for (const entry of entriesIn(file)) {
    const { length } = JSON.stringify(entry);
    if (entry.type === "custom" && length > 2048) findings.push(`an entry ${entry.customType} of ${length} characters`);
  }
  await using store = await openStore(home.belay);
  return [...findings, ...(await findingsIn(store))];
}

/** The cells whose exec has begun by what is on disk. */
function begunCells(file: string): readonly number[] {
  const begun = new Set(mirrored(file, "rlm_start").map(({ data }) => data?.tool_call_id));
  const cells: number[] = [];
  let cell = -1;
  for (const { message } of entriesIn(file)) {
    const text = JSON.stringify(message?.content ?? "");
    if (message?.role === "user") cell = Number(/run cell (\d+)/.exec(text)?.[1] ?? -1);
    const calls: readonly { type?: string; id?: string }[] =
      message && Array.isArray(message.content) ? message.content : [];
    if (cell >= 0 && calls.some(({ type, id }) => type === "toolCall" && begun.has(id))) cells.push(cell);
  }
  return cells;
}
