import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { seededRandom } from "../../src/platform/seeded-random.ts";
import { commandHere } from "../../tests/support/command-here.ts";
import { type LargeInput, type LargeLine, linesOf } from "./inputs.ts";
import { type LargeLife, largeLife } from "./life.ts";

/** What a campaign of kills over large contexts does. */
export interface LargeOptions {
  /** An empty folder: stores go there. */
  readonly folder: string;
  readonly inputs: readonly LargeInput[];
  /** Ends with the round that reaches so many kills. */
  readonly kills: number;
  /** Kills of one line at most. */
  readonly most: number;
  readonly seed: number;
  /** Told of each finding, and of each round. */
  readonly say: (line: string) => void;
}

/** What a campaign found. */
export interface LargeReport {
  readonly kills: number;
  readonly rounds: number;
  /** The kills of each line, by its name. */
  readonly byLine: ReadonlyMap<string, number>;
  /** The rounds in which gc ran beside a line. */
  readonly collected: number;
  readonly mismatches: readonly string[];
}

/** The part of lives that are killed, while there may be more kills. */
const KILLED = 0.8;
/** The part of lives beside which `belay gc` runs. */
const COLLECTED = 0.15;
const SESSION = "large";

/** What the lines come to without a kill. */
interface Reference {
  readonly input: LargeInput;
  /** The last line of JSON of each line, and how long it took, ms. */
  readonly ends: readonly { readonly result: string; readonly ms: number }[];
  /** Names of the files of texts and indexes once gc has run. */
  readonly files: readonly string[];
}

/** Kills processes that load, append, index and look, and compares what their repetitions come to. */
export async function largeCampaign(options: LargeOptions): Promise<LargeReport> {
  const { folder, inputs, kills, most, seed, say } = options;
  const random = seededRandom(seed);
  const mismatches: string[] = [];
  const references: Reference[] = [];
  for (const [n, input] of inputs.entries()) references.push(await referenceOf(input, join(folder, `whole-${n}`)));
  const byLine = new Map<string, number>();
  const report = { kills: 0, rounds: 0, collected: 0 };
  while (report.kills < kills) {
    const reference = references[report.rounds % references.length];
    if (!reference) throw new Error("there is no input");
    const home = join(folder, `round-${report.rounds}`);
    mkdirSync(home);
    const where = `round ${report.rounds}, ${reference.input.name}`;
    const wrong = (finding: string) => {
      mismatches.push(`${where}: ${finding}`);
      say(`${where}: ${finding}`);
    };
    const { command } = reference.input;
    const typing = { home, most, random, wrong, ...(command ? { command } : {}) };
    for (const [at, line] of linesOf(reference.input).entries()) {
      const { result = "", ms = 0 } = reference.ends[at] ?? {};
      const { end, killed, collected } = await typedAgain(line, { ...typing, ms });
      byLine.set(line.name, (byLine.get(line.name) ?? 0) + killed);
      report.kills += killed;
      report.collected += collected;
      const found = resultOf(end);
      if (found !== result) wrong(`${line.name} came to ${found} instead of ${result}\n${end.stderr}`);
    }
    await judgeStore(home, reference, wrong);
    rmSync(home, { recursive: true, force: true });
    report.rounds += 1;
    say(`${report.rounds} rounds, ${report.kills} kills, ${mismatches.length} mismatches`);
  }
  return { ...report, byLine, mismatches };
}

async function referenceOf(input: LargeInput, home: string): Promise<Reference> {
  mkdirSync(home);
  const ends: { result: string; ms: number }[] = [];
  for (const line of linesOf(input)) {
    const life = await largeLife({ args: argsOf(line), home, command: input.command });
    if (life.code !== 0) throw new Error(`${input.name}, ${line.name}: ${life.code}\n${life.stdout}${life.stderr}`);
    ends.push({ result: resultOf(life), ms: life.ms });
  }
  await commandHere(["gc"], { home });
  const files = filesIn(home);
  rmSync(home, { recursive: true, force: true });
  return { input, ends, files };
}

const argsOf = ({ args }: LargeLine) => ["exec", "--session", SESSION, "--json", "--quiet", ...args];

/** The result of the last cell, as JSON; what was printed, if the cell failed. */
function resultOf({ stdout }: LargeLife): string {
  const last = stdout.trim().split("\n").at(-1) ?? "";
  try {
    const { success, result_json } = JSON.parse(last);
    return success === true ? JSON.stringify(result_json) : last;
  } catch {
    return last;
  }
}

/** What became of a line that was typed until nobody killed it. */
interface Typed {
  readonly end: LargeLife;
  readonly killed: number;
  /** How often gc ran beside it. */
  readonly collected: number;
}

/** How a line is typed. */
interface Typing extends Pick<LargeInput, "command"> {
  readonly home: string;
  /** What it takes without a kill, ms. */
  readonly ms: number;
  readonly most: number;
  readonly random: () => number;
  readonly wrong: (finding: string) => void;
}

async function typedAgain(line: LargeLine, typing: Typing): Promise<Typed> {
  const { home, wrong, command } = typing;
  let killed = 0;
  let collected = 0;
  let args = argsOf(line);
  for (let life = 0; ; life++) {
    const killAfterMs = life < typing.most && typing.random() < KILLED ? typing.random() * typing.ms * 1.1 : undefined;
    const collector = typing.random() < COLLECTED ? largeLife({ args: ["gc"], home }) : undefined;
    const end = await largeLife({ args, home, command, ...(killAfterMs === undefined ? {} : { killAfterMs }) });
    const swept = await collector;
    if (swept) {
      collected += 1;
      if (swept.code !== 0) wrong(`gc beside ${line.name} ended with ${swept.code}\n${swept.stderr}`);
    }
    if (end.isKilled) killed += 1;
    // Whoever appends is told to finish the cell that followed, once the append is there.
    else if (args !== RESUME && end.stdout.includes('"exec_unfinished"')) args = RESUME;
    else return { end, killed, collected };
  }
}

const RESUME = ["resume", SESSION, "--json", "--quiet"];

/** Looks for what kills have left, and removes the session. */
async function judgeStore(home: string, { files }: Reference, wrong: (finding: string) => void): Promise<void> {
  const doctor = await commandHere(["doctor", "--json"], { home });
  if (doctor.code !== 0) wrong(`doctor ended with ${doctor.code}\n${doctor.stdout}`);
  const gc = await commandHere(["gc"], { home });
  if (gc.code !== 0) wrong(`gc ended with ${gc.code}\n${gc.stderr}`);
  const left = filesIn(home);
  if (left.join() !== files.join()) wrong(`gc left ${left.join(" ")} instead of ${files.join(" ")}`);
  const rm = await commandHere(["rm", SESSION], { home });
  if (rm.code !== 0) wrong(`rm ended with ${rm.code}\n${rm.stderr}`);
  const rest = filesIn(home);
  if (rest.length > 0) wrong(`rm left ${rest.join(" ")}`);
}

/** The beginning of names of notes on sources that need not be read again. */
const KNOWN_LOAD = "load-";

/** The files of texts and of their indexes, which have names of what they hold. */
function filesIn(home: string): readonly string[] {
  const files = ["texts", "index"].flatMap((name) => {
    const folder = join(home, name);
    return existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : [];
  });
  return files
    .filter((entry) => entry.isFile() && !entry.name.startsWith(KNOWN_LOAD))
    .map((entry) => join(entry.parentPath, entry.name).slice(home.length))
    .sort();
}

/** The figures of a campaign, line by line. */
export function printedLarge({ kills, rounds, byLine, collected, mismatches }: LargeReport): string {
  const lines = [...byLine].map(([line, count]) => `${line} ${count}`).join(", ");
  return [
    `rounds          ${rounds}`,
    `kills           ${kills}: ${lines}`,
    `gc beside       ${collected}`,
    `mismatches      ${mismatches.length}`,
  ].join("\n");
}
