import { copyFileSync, mkdirSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { processHost } from "../../src/cli/commands/define.ts";
import { openStoreIn } from "../../src/cli/store/open-store.ts";
import { findingsIn } from "../../src/store/whole-reads.ts";
import { commandHere, type Ran } from "../../tests/support/command-here.ts";
import { startModelServer } from "../../tests/support/model-server.ts";
import { type Damaging, damagesOf, EMPTIED, putDamaged } from "./damages.ts";
import { type Outcome, type Tally, tallyOf } from "./tally.ts";
import { isUnsealed } from "./unsealed.ts";

export interface RunsCorruption extends Omit<Damaging, "tables"> {
  /** An empty folder. */
  readonly folder: string;
}

export interface RunsTally extends Tally {
  /** Damages of which `belay doctor` named something. */
  readonly named: number;
  /** Damages that changed what was read in values without a checksum alone. */
  readonly unsealed: number;
}

/** Types a line of `belay`, in process. */
type Belay = (...args: string[]) => Promise<Ran>;

/** Damages a store with runs in many ways, one at a time, and types each time what a user types who looks at them or goes on. */
export async function corruptRuns({ folder, ...damaging }: RunsCorruption): Promise<RunsTally> {
  await using server = await startModelServer(({ prompt }) => ({ text: `label of ${prompt}` }));
  const home = join(folder, "home");
  const env = { BELAY_BASE_URL: server.url, BELAY_MODEL: "local/m", XDG_CONFIG_HOME: join(folder, "config") };
  const belay: Belay = (...args) => commandHere(args, { cwd: folder, home, env });
  await makeRuns(folder, belay);
  const path = join(home, "belay.db");
  const original = join(folder, "original.db");
  copyFileSync(path, original);
  const expected = await readAll(belay, home, "no damage");
  const refused = expected.findIndex((reading) => reading === REFUSED || reading.startsWith(CRASHED));
  if (refused !== -1) throw new Error(`${LINES[refused]} fails before the store is damaged: ${expected[refused]}`);
  const counts = { refused: 0, unharmed: 0, wrong: 0, crashed: 0 };
  let unsealed = 0;
  const done = { flip: 0, cut: 0 };
  const told: string[] = [];
  let named = 0;
  for (const damage of damagesOf(original, { ...damaging, tables: ["runs", "jobs"] })) {
    // An empty file is a new store.
    if (damage.name === EMPTIED) continue;
    putDamaged(original, path, damage);
    rmSync(join(home, "locks"), { recursive: true, force: true });
    const hasNoSeal = isUnsealed(original, path);
    if (await isNamed(home)) named += 1;
    const { kind, what } = compare(expected, await readAll(belay, home, damage.name));
    done[damage.kind] += 1;
    if (kind === "wrong" && hasNoSeal) unsealed += 1;
    else counts[kind] += 1;
    if (kind === "wrong" || kind === "crashed")
      told.push(`${hasNoSeal ? "no checksum" : kind}: ${damage.name}: ${what}`);
  }
  const tally = tallyOf(done, counts, told);
  const shown = `changed unseen, without a checksum ${unsealed} · belay doctor named ${named} of ${tally.damages}`;
  return { ...tally, named, unsealed, lines: [...tally.lines, shown] };
}

const RAISED = ["--run-max-sub-calls", "100"];

/** The last one goes on with the run that is half done. */
const LINES: readonly (readonly string[])[] = [
  ["jobs", "--json"],
  ["jobs", "finished", "--json"],
  ["jobs", "half", "--json"],
  ["jobs", "out", "finished"],
  ["batch", "ask.js", "--jobs", "half.jsonl", "--name", "half", "--out", "-", "--quiet", ...RAISED],
];

/** A job of `half` is done, one has recorded an answer and waits for money for the next one, and one waits. A job of `finished` has failed. */
async function makeRuns(folder: string, belay: Belay): Promise<void> {
  mkdirSync(join(folder, "config"), { recursive: true });
  writeFileSync(join(folder, "ask.js"), SCRIPT);
  writeFileSync(join(folder, "finished.jsonl"), jobs(["one", "bad"]));
  writeFileSync(join(folder, "half.jsonl"), jobs(["two", "three", "four"]));
  const line = ["--concurrency", "1", "--quiet"];
  const finished = await belay("batch", "ask.js", "--jobs", "finished.jsonl", "--name", "finished", ...line);
  const limit = ["--run-max-sub-calls", "3"];
  const half = await belay("batch", "ask.js", "--jobs", "half.jsonl", "--name", "half", ...limit, ...line);
  if (finished.code !== 1 || half.code !== 3) {
    throw new Error(`the runs were not made:\n${finished.stderr}${half.stderr}`);
  }
}

const SCRIPT = `const first = await llm_query(job.id, { tools: [] });
if (job.id === "bad") throw new Error("no label");
await llm_query("again: " + first, { tools: [] })`;

const jobs = (ids: readonly string[]) => ids.map((id) => `${JSON.stringify({ id })}\n`).join("");

const REFUSED = "refused";
const CRASHED = "crashed: ";

/** What each of the lines gave: what was read, or that it was refused by name, or how it crashed. */
async function readAll(belay: Belay, home: string, damage: string): Promise<string[]> {
  const readings: string[] = [];
  for (const line of LINES) {
    rmSync(join(home, "collected"), { force: true });
    readings.push(readingOf(await inTime(belay(...line), `${damage}: belay ${line.join(" ")}`)));
  }
  return readings;
}

/**
 * A line that waits for what does not come is interrupted, and named before: if it cannot end in
 * order, it ends the campaign with it.
 */
async function inTime(running: Promise<Ran>, what: string): Promise<Ran> {
  const interrupt = setTimeout(() => {
    // The line has the process's streams.
    writeSync(2, `${what} is interrupted after ${LONGEST_MS / 1000} s\n`);
    process.emit("SIGINT");
  }, LONGEST_MS);
  try {
    return await running;
  } finally {
    clearTimeout(interrupt);
  }
}

/** On a busy machine, a line that goes on with jobs took more than 20 s. */
const LONGEST_MS = 180_000;
const INTERRUPTED = 130;

function readingOf({ code, stdout, stderr }: Ran): string {
  if (code === INTERRUPTED) return `${CRASHED}it had to be interrupted, and said: ${stderr.slice(-400)}`;
  if (stderr.includes("BELAY_DEBUG")) return `${CRASHED}${stderr}`;
  // Who is told of an error knows that the rest of what is printed is not all. A job whose input is damaged fails by name.
  const told = ['"success":false', '"error_code":"store_corrupt"'].some((words) => stdout.includes(words));
  const named = /^error: .* \(\w+\)$/m.test(stderr) || stderr.includes("paused: store_corrupt: ");
  if (code !== 0 && (told || named)) return REFUSED;
  return `${code} ${stdout.split("\n").map(bare).join("\n")}`;
}

/** A line without what differs each time that a job is gone on with. */
function bare(line: string): string {
  return line.replaceAll(/"(ms|resumed|attempts|tokens)":\d+/g, '"$1":0');
}

/** Whether `belay doctor` has a finding: it reads the store in this way. */
async function isNamed(home: string): Promise<boolean> {
  try {
    await using store = await openStoreIn(home, processHost);
    return (await findingsIn(store)).some((line) => !line.startsWith("info: "));
  } catch {
    return true;
  }
}

function compare(
  expected: readonly string[],
  found: readonly string[],
): { readonly kind: Outcome; readonly what: string } {
  const crashed = found.find((reading) => reading.startsWith(CRASHED));
  if (crashed !== undefined) return { kind: "crashed", what: crashed };
  const wrong = found.findIndex((reading, at) => reading !== REFUSED && reading !== expected[at]);
  if (wrong !== -1) {
    return {
      kind: "wrong",
      what: `${LINES[wrong]?.slice(0, 3).join(" ")} gave ${differenceOf(expected[wrong], found[wrong])}`,
    };
  }
  return { kind: found.includes(REFUSED) ? "refused" : "unharmed", what: "" };
}

/** What was read from the first character on that differs, with a little before it. */
function differenceOf(expected = "", found = ""): string {
  let at = 0;
  while (at < found.length && found[at] === expected[at]) at += 1;
  return JSON.stringify(found.slice(Math.max(0, at - BEFORE), at + AFTER));
}

const BEFORE = 40;
const AFTER = 80;
