import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { type Contestant, median } from "./measure.ts";

// Programs from their start to their end, with the CPU time and the memory of all their threads.

/** The program that tells them, if it is on this machine. */
const TIME = "/usr/bin/time";
const FORMAT = "cpu %U %S peak %M";

/** What one run of a program took. */
export interface WholeRun {
  readonly ms: number;
  /** User and system time of all threads, ms; null without `time`. */
  readonly cpuMs: number | null;
  /** The most memory that was resident at once, MB; null without `time`. */
  readonly peakMb: number | null;
  readonly stdout: string;
}

/** A program and how it is started. */
export interface WholeProgram {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Exit codes that are no failure; absent: 0. */
  readonly codes?: readonly number[];
  /** Done before each run; its time does not count. */
  readonly before?: () => void;
  /** Throws if the answer is wrong. */
  readonly check?: (stdout: string) => void;
}

/** A contestant that is a program, and what its runs took. */
export interface WholeContestant extends Contestant {
  readonly runs: WholeRun[];
}

/** Makes a program a contestant. */
export function contestantOf(whole: WholeProgram): WholeContestant {
  const runs: WholeRun[] = [];
  return {
    name: whole.name,
    runs,
    async once() {
      whole.before?.();
      const run = await runWhole(whole);
      whole.check?.(run.stdout);
      runs.push(run);
      return run.ms;
    },
  };
}

/** The CPU time and memory of a contestant in words: `CPU 3.6 s, 127 MB`; empty if they are not known. */
export function takenBy({ runs }: WholeContestant): string {
  const cpu = runs.flatMap(({ cpuMs }) => (cpuMs === null ? [] : [cpuMs]));
  if (cpu.length === 0) return "";
  return `CPU ${(median(cpu) / 1000).toFixed(2)} s, ${Math.round(peakOf(runs))} MB`;
}

/** The most memory of some runs, MB; NaN if it is not known. */
export function peakOf(runs: readonly WholeRun[]): number {
  const peaks = runs.flatMap(({ peakMb }) => (peakMb === null ? [] : [peakMb]));
  return peaks.length === 0 ? Number.NaN : Math.max(...peaks);
}

/** UTF-16 units of an output that are kept. */
const KEPT_UNITS = 2 ** 20;

function runWhole({ name, program, args, env = process.env, codes = [0] }: WholeProgram): Promise<WholeRun> {
  const isTimed = existsSync(TIME);
  const [file, given] = isTimed ? [TIME, ["-f", FORMAT, program, ...args]] : [program, args];
  const started = performance.now();
  const child = spawn(file, given, { env, stdio: ["ignore", "pipe", "pipe"] });
  const texts = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    texts.stdout += text;
    // The end has all that is read of it, and a long output is no string.
    if (texts.stdout.length > 2 * KEPT_UNITS) texts.stdout = texts.stdout.slice(-KEPT_UNITS);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    texts.stderr = (texts.stderr + text).slice(-10_000);
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      const ms = performance.now() - started;
      if (!codes.includes(code ?? -1)) {
        reject(new Error(`${name} ended with ${code}\n${texts.stderr}${texts.stdout.slice(-2000)}`));
        return;
      }
      const [, user, system, peak] = /cpu ([\d.]+) ([\d.]+) peak (\d+)\s*$/.exec(texts.stderr) ?? [];
      const cpuMs = user === undefined ? null : 1000 * (Number(user) + Number(system));
      resolve({ ms, cpuMs, peakMb: peak === undefined ? null : Number(peak) / 1024, stdout: texts.stdout });
    });
  });
}
