import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildCommand } from "./built.ts";
import { FREQUENT, NOWHERE, RARE, type WrittenLog, writeLog } from "./logs.ts";
import { median, takeTurns } from "./measure.ts";
import type { Aim, Case, Report } from "./report.ts";
import { size } from "./size.ts";
import {
  contestantOf,
  peakOf,
  takenBy,
  type WholeContestant,
  type WholeProgram,
  type WholeRun,
} from "./whole-process.ts";

/** The smallest size is a context in files, too. */
const GB = 2 ** 30;
/** Sizes to take instead, in GB with commas between. */
const SIZES_VARIABLE = "BELAY_BENCH_GB";
const sizes = () => (process.env[SIZES_VARIABLE] ?? "0.1,1,4").split(",").map(Number);
/** What an index of more takes minisearch is too much memory. */
const MOST_FOR_MINISEARCH = 0.2 * GB;
const MINISEARCH = fileURLToPath(new URL("./minisearch-process.ts", import.meta.url));
const MOST_MB = 16_384;

const LITERALS = [NOWHERE, RARE.word, FREQUENT];
/** Patterns that are no fixed text. ripgrep takes them for the same. */
const EXPRESSIONS = ["req-[0-9a-f]{4}00[0-9a-f]+", "timeout.*denied", "(?i)CONNECTION reset", "\\bdéployé\\b"];
/** The smallest form finds a pattern, and counts a fixed text. */
const FOUND = size([...LITERALS, ...EXPRESSIONS], ["timeout.*denied"]);
const COUNTED = size([...LITERALS, ...EXPRESSIONS], [FREQUENT]);

const READ = `const { openSync, readSync } = require("node:fs");
  const file = openSync(process.argv[1], "r"), room = Buffer.alloc(4 * 2 ** 20);
  while (readSync(file, room) > 0);`;

/** A context of gigabytes that is loaded, opened, searched and indexed, each by a process from its start to its end. */
export async function benchFullSize(): Promise<Report> {
  const reports: Report[] = [];
  for (const gb of size(sizes(), [0.0002])) reports.push(await atSize(gb));
  return {
    title: "full size: logs with a unique id in each line, in six scripts",
    cases: reports.flatMap(({ cases }) => cases),
    aims: reports.flatMap(({ aims }) => aims),
    notes: [
      "Each sample is a process, with the start of it; CPU is that of all of its threads, and MB is what was resident at most.",
      "The log was written just before: the system holds it in memory.",
      `minisearch is left out over ${Math.round(MOST_FOR_MINISEARCH / 2 ** 20)} MB, where its index takes more than 10 GB.`,
    ],
  };
}

/** The contestants of a case, of which Belay is the first. */
interface Race {
  readonly name: string;
  readonly contestants: readonly WholeContestant[];
  /** True if it cannot be done a second time. */
  readonly isOnce?: boolean;
  /** The aim of Belay's time, once all have run. */
  readonly aim?: (cellMs: number) => Aim;
}

const MOST_MB_OF_PROCESS = 300;

async function atSize(gb: number): Promise<Report> {
  const ground = await openGround(gb);
  try {
    const label = gb < 1 ? `${Math.round(gb * 1000)} MB` : `${gb} GB`;
    const races = racesOn(ground);
    const cases: Case[] = [];
    const aims: Aim[] = [];
    for (const { name, contestants, isOnce = false, aim } of races) {
      const rounds = isOnce || gb > 1 ? 1 : size(3, 1);
      const measured = await takeTurns(contestants, { rounds, warmups: 0, budgetMs: 120_000 });
      const own = [...(aim ? [aim(medianOf(contestants[0], cellMs))] : []), memoryAim(contestants[0])];
      const remarks = Object.fromEntries(contestants.map((one) => [one.name, remarkOn(one)]));
      const met = own.map(({ text, value, met }) => `${text}: ${value}, ${met ? "met" : "missed"}`);
      remarks.Belay = [remarks.Belay, ...met].join("; ");
      cases.push({ name: `${label}: ${name}`, measured, remarks });
      aims.push(...own.slice(0, -1).map((one) => ({ ...one, text: `${label}: ${name}: ${one.text}` })));
    }
    aims.push(mostMemory(label, races));
    return { title: label, cases, aims };
  } finally {
    rmSync(ground.folder, { recursive: true, force: true });
  }
}

function remarkOn(contestant: WholeContestant): string {
  const [first] = contestant.runs;
  const isCell = first?.stdout.includes("execution_time_ms");
  const cell = isCell ? `, the cell ${Math.round(median(contestant.runs.map(cellMs)))} ms` : "";
  return `${takenBy(contestant)}${cell}`;
}

/** The files and programs of one size. */
interface Ground {
  readonly folder: string;
  readonly log: string;
  readonly more: string;
  readonly written: WrittenLog;
  /** A process of the command. @param home the folder of its store */
  belay(args: readonly string[], home?: string): Pick<WholeProgram, "program" | "args" | "env">;
  readonly ripgrep: string | undefined;
}

async function openGround(gb: number): Promise<Ground> {
  const { main, home } = await buildCommand();
  const folder = mkdtempSync(join(home, "full-size-"));
  const log = join(folder, "big.log");
  const more = join(folder, "more.log");
  const written = writeLog(log, { bytes: gb * GB, seed: 1 });
  writeLog(more, { bytes: (gb * GB) / 10, seed: 2 });
  mkdirSync(join(folder, "store"));
  const ripgrep = await import("@vscode/ripgrep").then(({ rgPath }) => rgPath).catch(() => undefined);
  return {
    folder,
    log,
    more,
    written,
    ripgrep,
    belay: (args, store = join(folder, "store")) => ({
      program: process.execPath,
      args: [main, ...args],
      env: { ...process.env, BELAY_HOME: store },
    }),
  };
}

function racesOn(ground: Ground): readonly Race[] {
  return [
    // A cell that counts is a next command of the session, too.
    ...loadRaces(ground).slice(0, size(3, 2)),
    ...findRaces(ground),
    ...countRaces(ground),
    ...searchRaces(ground),
    appendRace(ground),
  ];
}

const ROOM = ["--max-context-mb", String(MOST_MB)];

/** More than a cell takes on a machine that others use as well. */
const TIME = ["--max-execution-ms", "1800000", "--max-time-ms", "3600000"];

function execOf(session: string, cell: string, ...flags: readonly string[]): readonly string[] {
  return ["exec", "--quiet", "--json", "--session", session, ...TIME, ...flags, "-e", cell];
}

/** What a process printed about its last cell. */
interface CellEnd {
  readonly result_json: unknown;
  readonly execution_time_ms: number;
}

const cellEnd = (stdout: string): CellEnd => JSON.parse(stdout.trim().split("\n").at(-1) ?? "");

function loadRaces({ folder, log, belay }: Ground): readonly Race[] {
  const fresh = join(folder, "fresh");
  const renew = () => {
    rmSync(fresh, { recursive: true, force: true });
    mkdirSync(fresh);
  };
  const load = execOf("s", "P.length", ...ROOM, "-c", log);
  return [
    {
      name: "load",
      contestants: [
        contestantOf({ name: "Belay", ...belay(load, fresh), before: renew }),
        readOf(log),
        contestantOf({ name: "sha256sum", program: "sha256sum", args: [log] }),
      ],
    },
    { name: "load into the store of the next ones", contestants: [contestantOf({ name: "Belay", ...belay(load) })] },
    {
      name: "the next command of the session",
      contestants: [
        contestantOf({ name: "Belay", ...belay(execOf("s", "P.length")) }),
        contestantOf({ name: "an empty session", ...belay(execOf("empty", "1")) }),
      ],
    },
  ];
}

/** An append to the session of the races before it, which has it then. */
function appendRace({ more, belay }: Ground): Race {
  const append = execOf("s", "P.length", ...ROOM, "--append", "-c", more);
  return { name: "append of a tenth", isOnce: true, contestants: [contestantOf({ name: "Belay", ...belay(append) })] };
}

/** Lines of the file where it lies. */
function findRaces({ log, belay, ripgrep }: Ground): readonly Race[] {
  return FOUND.map((pattern) => ({
    name: `belay find ${pattern}`,
    contestants: [
      contestantOf({ name: "Belay", ...belay(["find", "-q", pattern, log]), codes: [0, 1] }),
      ...grepOf(ripgrep, ["--no-config", "-a", "-n", "--column", pattern, log]),
      readOf(log),
    ],
  }));
}

/** All matches in P. */
function countRaces({ log, written, belay, ripgrep }: Ground): readonly Race[] {
  const known = new Map([
    [NOWHERE, 0],
    [RARE.word, written.rare],
    [FREQUENT, written.frequent],
  ]);
  return COUNTED.map((pattern): Race => {
    const expected = known.get(pattern);
    const isLiteral = LITERALS.includes(pattern);
    const check = (stdout: string) => {
      const { result_json } = cellEnd(stdout);
      if (expected !== undefined && result_json !== expected) throw new Error(`count(${pattern}) is ${result_json}`);
    };
    const cell = execOf("s", `count(${JSON.stringify(pattern)})`);
    const grep = grepOf(ripgrep, ["--no-config", "-a", "--count-matches", pattern, log]);
    const reader = readOf(log);
    const [peer, most] = isLiteral ? [reader, 2] : [grep[0], 3];
    return {
      name: `count ${pattern}`,
      contestants: [contestantOf({ name: "Belay", ...belay(cell), check }), ...grep, reader],
      aim: (ms) => atMost(`the cell ÷ ${peer?.name}`, ms / medianOf(peer, processMs), most, " ×"),
    };
  });
}

const QUERY = "timeout database denied";

/** An index of P, and a question that the next process asks it. */
function searchRaces({ folder, log, written, belay }: Ground): readonly Race[] {
  const cell = execOf("s", `search(${JSON.stringify(QUERY)}).length`);
  const kept = join(folder, "minisearch.json");
  const peer = (name: string, what: string) =>
    written.bytes > MOST_FOR_MINISEARCH
      ? []
      : [contestantOf({ name, program: process.execPath, args: [MINISEARCH, what, log, kept, QUERY] })];
  const withoutIndex = () => rmSync(join(folder, "store/index"), { recursive: true, force: true });
  return [
    {
      name: "index, and a question",
      contestants: [
        contestantOf({ name: "Belay", ...belay(cell), before: withoutIndex }),
        ...peer("minisearch, kept as JSON", "index"),
      ],
      aim: (ms) => atLeast("the cell", written.bytes / 1000 / ms, 40, " MB/s"),
    },
    {
      name: "a question to a kept index",
      contestants: [contestantOf({ name: "Belay", ...belay(cell) }), ...peer("minisearch, from JSON", "query")],
      aim: (ms) => atMost("the cell", ms, 300, " ms"),
    },
  ];
}

function grepOf(ripgrep: string | undefined, args: readonly string[]): readonly WholeContestant[] {
  // It ends with 1 if it finds nothing.
  return ripgrep === undefined ? [] : [contestantOf({ name: "ripgrep", program: ripgrep, args, codes: [0, 1] })];
}

const readOf = (log: string) =>
  contestantOf({ name: "read in Node", program: process.execPath, args: ["-e", READ, log] });

/** The median of what a contestant took, ms; NaN if there is none. */
const medianOf = (contestant: WholeContestant | undefined, taken: (run: WholeRun) => number) =>
  median(contestant?.runs.map(taken) ?? []);

const processMs = ({ ms }: WholeRun) => ms;

/** Belay's time is that of the cell, if it has one: to start and to open the session takes the same at each size. */
const cellMs = ({ stdout }: WholeRun) => cellEnd(stdout).execution_time_ms;

/** The aim of the process of Belay that takes the most memory. */
function mostMemory(label: string, races: readonly Race[]): Aim {
  const peaks = races.map(({ name, contestants: [belay] }) => ({
    name,
    ...memoryAim(belay),
    mb: peakOf(belay?.runs ?? []),
  }));
  const { name, text, value, met } = peaks.reduce((most, one) => (one.mb > most.mb ? one : most));
  return { text: `${label}: ${text}, at most in: ${name}`, value, met };
}

function memoryAim(belay: WholeContestant | undefined): Aim {
  return atMost("memory", peakOf(belay?.runs ?? []), MOST_MB_OF_PROCESS, " MB");
}

const figure = (value: number) => (value < 10 ? value.toFixed(1) : Math.round(value).toString());

function atMost(what: string, value: number, most: number, unit: string): Aim {
  return { text: `${what} ≤ ${most}${unit}`, value: `${figure(value)}${unit}`, met: value <= most };
}

function atLeast(what: string, value: number, least: number, unit: string): Aim {
  return { text: `${what} ≥ ${least}${unit}`, value: `${figure(value)}${unit}`, met: value >= least };
}
