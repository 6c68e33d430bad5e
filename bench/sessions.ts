import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { buildCommand } from "./built.ts";
import { median } from "./measure.ts";
import { type Aim, aimAtMost, type Case, type Report } from "./report.ts";
import type { Left, Round, Sessions } from "./sessions-process.ts";
import { size } from "./size.ts";

const PROCESS = fileURLToPath(new URL("./sessions-process.ts", import.meta.url));
const MB = 2 ** 20;
const ROUNDS = size(20, 1);
const PROCESSES = size(3, 1);

/** Many sessions in one process, built: what they take in time and memory, and what stays when they are closed. */
export async function benchSessions(): Promise<Report> {
  const { library, home } = await buildCommand("bench/session-parts");
  const inStore = { BELAY_HOME: home };
  const together = ["one=1", "codemode one=1", "parts=1", "codemode many=2", "many in a store=2"];
  const measure = await openMeasures(library, together, inStore);
  const one = await inTurn(measure);
  const parts = await measure<Record<string, number[]>>("parts", size(10, 1));
  const peer = await measure<Pick<Sessions, "cells" | "cpu">>("codemode many", size(100, 2));
  const stored = await measure<Sessions>("many in a store", size(1000, 2), inStore);
  const hundred = size(null, stored) ?? (await measure<Sessions>("many", 100));
  const thousand = size(null, stored) ?? (await measure<Sessions>("many", 1000));
  return {
    title: "sessions: many in one process",
    cases: [
      ...one,
      {
        name: "100 cells at once",
        measured: [sample("Belay", hundred.cells), sample("pi-codemode", peer.cells)],
      },
      { name: "the same, CPU time", measured: [sample("Belay", hundred.cpu), sample("pi-codemode", peer.cpu)] },
    ],
    notes: [
      "first: of a process, with all that is loaded then. pi-codemode: a new sandbox, a thread with an engine.",
      `parts of opening and a first cell, first and later: ${partsLine(parts)}`,
      line("100 sessions", hundred),
      line("1,000 sessions", thousand),
      line("1,000 sessions in a store on disk", stored),
    ],
    aims: aimsOf(one, [hundred, thousand, stored]),
  };
}

/** What stays in a process's memory when its sessions are closed: by their number, and by the settings of the C library's allocator. */
export async function benchMemory(): Promise<Report> {
  const { library } = await buildCommand();
  const measure = await openMeasures(library, ["left=1", "rounds=1"]);
  const notes: string[] = [];
  for (const [count, settings] of LEAVING) {
    const left = await measure<Left>("left", count, settings);
    const steps = [left.closed, left.threadsEnded, left.pagesBack, left.collected].map((bytes) => mb(bytes));
    notes.push(`${count} sessions, ${named(settings)}: ${steps.join(", ")}`);
  }
  const rounds = await measure<Round[]>("rounds", size(300, 1));
  return {
    title:
      "memory: what sessions leave when they are closed: at once, when threads have ended, 8 s after that, when V8 is short of memory",
    cases: [],
    notes: [
      ...notes,
      `rounds of 300 sessions, heap of the main thread: ${rounds.map(({ heap }) => mb(heap, 1)).join(", ")}`,
      `rounds of 300 sessions, resident: ${rounds.map(({ resident }) => mb(resident)).join(", ")}`,
    ],
    aims: [],
  };
}

/** How many sessions, and settings of glibc's allocator, which mean nothing elsewhere. */
const LEAVING: readonly (readonly [number, Readonly<Record<string, string>>])[] = size(
  [
    [1, {}],
    [100, {}],
    [100, { MALLOC_TRIM_THRESHOLD_: "131072" }],
    [1000, {}],
    [1000, { MALLOC_ARENA_MAX: "2" }],
  ],
  [[1, {}]],
);

function named(settings: Readonly<Record<string, string>>): string {
  const texts = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  return texts.join(" ") || "as it is";
}

async function inTurn(measure: Measure): Promise<Case[]> {
  const belay: number[][] = [];
  const peer: number[][] = [];
  for (let n = 0; n < PROCESSES; n++) {
    belay.push(await measure<number[]>("one", ROUNDS));
    peer.push(await measure<number[]>("codemode one", ROUNDS));
  }
  const firsts = (of: number[][]) => of.flatMap(([first]) => first ?? []);
  const others = (of: number[][]) => of.flatMap(([, ...rest]) => rest);
  const pair = (name: string, pick: (of: number[][]) => number[]): Case => ({
    name,
    measured: [
      { name: "Belay openSession + exec", samples: pick(belay), gaveUp: false },
      { name: "pi-codemode new + execute", samples: pick(peer), gaveUp: false },
    ],
  });
  return [pair("open + first cell, first", firsts), pair("open + first cell, later", others)];
}

function aimsOf(one: readonly Case[], many: readonly [Sessions, ...Sessions[]]): Aim[] {
  const [hundred] = many;
  const [first = Number.NaN, later = Number.NaN] = one.map(({ measured }) => median(measured[0]?.samples ?? []));
  const most = (pick: (of: Sessions) => number) => Math.max(...many.map(pick));
  return [
    aimAtMost("opening + first cell of a process ≤ 60 ms", first, 60, " ms"),
    aimAtMost("opening + first cell, later ≤ 100 ms", later, 100, " ms"),
    aimAtMost("100 one-line cells at once ≤ 3 s", hundred.cells / 1000, 3, " s"),
    aimAtMost("1,000 open sessions at rest ≤ 400 MB", most(({ rest }) => rest) / MB, 400, " MB"),
    aimAtMost(
      "the main loop is never held above 100 ms",
      most(({ held }) => held),
      100,
      " ms",
    ),
    aimAtMost("when all are closed, within 60 MB of before", most(({ left }) => left) / MB, 60, " MB"),
  ];
}

function partsLine(parts: Readonly<Record<string, number[]>>): string {
  const ms = (value: number | undefined) => (value ?? Number.NaN).toFixed(1);
  const texts = Object.entries(parts).map(
    ([name, [first, ...later]]) => `${name} ${ms(first)} / ${ms(median(later))} ms`,
  );
  return texts.join(", ");
}

const sample = (name: string, ms: number) => ({ name, samples: [ms], gaveUp: false });

function line(what: string, { open, cells, cpu, held, rest, left, again }: Sessions): string {
  const ms = (value: number) => `${value.toFixed(0)} ms`;
  return `${what}: open ${ms(open)}, a cell in each at once ${ms(cells)}, CPU ${ms(cpu)}, main loop held ${ms(held)}, at rest ${mb(rest)}, closed ${mb(left)}; a cell after the machine was given up ${again.toFixed(1)} ms`;
}

function mb(bytes: number, digits = 0): string {
  return `${(bytes / MB).toFixed(digits)} MB`;
}

/** Settings of a process beside those of this one. */
type Settings = Readonly<Record<string, string>>;

type Measure = <T>(what: string, count: number, settings?: Settings) => Promise<T>;

/** Gives each measure a process of its own. In the smallest form one process, with these settings, does `together` at once. */
async function openMeasures(library: string, together: readonly string[], settings: Settings = {}): Promise<Measure> {
  const done = size(null, together) && (await measured(library, together, settings));
  return async (what, count, own = {}) => {
    const line = done?.[together.findIndex((one) => one.startsWith(`${what}=`))];
    const [alone] = line === undefined ? await measured(library, [`${what}=${count}`], own) : [line];
    return JSON.parse(alone ?? "");
  };
}

/** What a process printed for each of its measures. */
async function measured(library: string, measures: readonly string[], settings: Settings): Promise<readonly string[]> {
  const args = ["--expose-gc", PROCESS, library, ...measures];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...settings } });
  return stdout.trim().split("\n");
}
