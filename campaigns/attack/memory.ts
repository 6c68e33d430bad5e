import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Cells that take memory, by names. Each is made for the limit of its guest, MB. */
export const CASES: Readonly<Record<string, (mb: number) => string>> = {
  nothing: () => "1 + 1",
  "a regular expression": () => `/(?:(a)|b)*c/.test("ab".repeat(5e6))`,
  "a regular expression that is captured": () => `"ab".repeat(5e6).match(/(?:(a)|(b))*c/)`,
  "typed arrays": () => "const a = []; for (;;) a.push(new Uint8Array(2 ** 20).fill(7))",
  "buffers of zeros": () => "const a = []; for (;;) a.push(new ArrayBuffer(2 ** 20))",
  strings: () => "const a = []; for (let i = 0; ; i++) a.push(String(i).repeat(1e4).toUpperCase())",
  "a map": () => "const m = new Map(); for (let i = 0; ; i++) m.set(i, i)",
  objects: () => "const a = []; for (let n = 0; ; n++) a.push({ n })",
  "one list": () => "const a = []; for (let i = 0; ; i++) a.push(i)",
  split: () => `"a".repeat(1e7).split("").length`,
  "JSON out": (mb) => `JSON.stringify(Array(${mb * 2e4}).fill("abcdefghij")) + "x".repeat(1e8)`,
  "JSON in": () => `JSON.parse("[" + "[],".repeat(1e7) + "1]")`,
  output: () => `for (let i = 0; i < 20; i++) print("x".repeat(2e6) + i)`,
  "a text as result": (mb) => `"x".repeat(${mb * 7e5})`,
  "a list as result": (mb) => `Array(${mb * 1e4}).fill({ a: 1 })`,
  "a text that is thrown": (mb) => `throw new Error("x".repeat(${mb * 4e5}))`,
  "an argument": (mb) => `peek("x".repeat(${mb * 4e5}))`,
  fragments: () => `let kept = [];
    for (let bytes = 64; ; bytes = Math.floor(bytes * 1.4)) {
      const some = [];
      try { for (;;) some.push(new Uint8Array(bytes).fill(7)) } catch {}
      kept = kept.concat(some.filter((_, at) => at % 2));
    }`,
  garbage: (mb) => `for (let i = 0; i < 5; i++) ("x".repeat(${mb * 3e5}) + i).toUpperCase(); 1`,
  "bytes that stay": (mb) =>
    `const kept = Array.from({ length: ${Math.floor(mb * 0.7)} }, () => new Uint8Array(2 ** 20).fill(7)); 1`,
  "objects that stay": (mb) => `const kept = Array.from({ length: ${mb * 1e4} }, (_, n) => ({ n })); 1`,
  "noise that stays": (mb) => `let seed = 1;
    const kept = Array.from({ length: ${Math.floor(mb * 0.7)} }, () => new Uint32Array(2 ** 18).map(() => {
      seed ^= seed << 13; seed ^= seed >>> 17; seed ^= seed << 5; return seed }));
    1`,
};

/** What a process does with a library that it imports, by names: it opens sessions and runs their cells. */
export const SESSIONS: Readonly<Record<string, (mb: number) => SessionsCase>> = {
  "a later cell beside bytes that stay": (mb) => ({
    cells: [stays("bytes that stay", mb), "kept.push(1); 1", "kept.push(2); 1"],
  }),
  "a later cell beside objects that stay": (mb) => ({
    cells: [stays("objects that stay", mb), "kept.length", "kept.length"],
  }),
  "a later cell beside noise that stays": (mb) => ({
    cells: [stays("noise that stays", mb), "kept.push(1); 1", "kept.length"],
  }),
  "a later cell that fills the heap": (mb) => ({
    cells: [stays("bytes that stay", mb), CASES["typed arrays"]?.(mb) ?? "", "1"],
  }),
  "a cell with P": () => ({ cells: ["P.length", "count(/x/g)", "peek(0, 10)"], contextMb: 50 }),
  "a cell that fills the heap beside P": (mb) => ({
    cells: ["P.length", CASES["one list"]?.(mb) ?? ""],
    contextMb: 50,
  }),
  "ten cells that wait": () => ({ cells: ["1"], waiting: 10 }),
};

export interface SessionsCase {
  readonly cells: readonly string[];
  /** MB of text that the session has. */
  readonly contextMb?: number;
  /** Further sessions, whose cells wait for a sub-call. */
  readonly waiting?: number;
}

const stays = (name: string, mb: number) => CASES[name]?.(mb) ?? "";

export interface Peak {
  /** The most memory that the process had at once, MB. */
  readonly mb: number;
  readonly seconds: number;
  /** `ok`, or the error code of the cell. */
  readonly end: string;
}

/**
 * Runs a cell in a command of its own, with a store in a folder, and reads the peak of its memory at its end.
 * @param command arguments of node that make it `belay`
 */
export async function peakOf(command: readonly string[], cell: string, limitMb: number): Promise<Peak> {
  const args = ["exec", "--json", "--memory-mb", String(limitMb), "--max-execution-ms", "120000", "-e", cell];
  return peakOfProcess([...command, ...args]);
}

/** Runs what a case says in a process of its own. @param program `memory-process.ts`, built */
export function peakOfSessions(program: string, asked: SessionsCase, limitMb: number): Promise<Peak> {
  return peakOfProcess([program, JSON.stringify({ ...asked, limitMb })]);
}

/** @param args of node. The process prints an envelope, and its files are in HOME */
async function peakOfProcess(args: readonly string[]): Promise<Peak> {
  const home = mkdtempSync(join(tmpdir(), "belay-memory-"));
  const from = performance.now();
  const child = spawn(process.execPath, ["--import", TELLS, ...args], {
    env: { ...process.env, HOME: home, BELAY_HOME: join(home, "belay") },
  });
  let told = "";
  let printed = "";
  child.stderr.on("data", (piece) => (told += piece));
  child.stdout.on("data", (piece) => (printed += piece));
  await once(child, "close");
  rmSync(home, { recursive: true, force: true });
  const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(told) ?? [];
  if (kilobytes === undefined) throw new Error(`the process did not say how much memory it had: ${told}`);
  if (printed === "") throw new Error(`the process printed nothing: ${told.slice(0, 1000)}`);
  const { success, error_code: code } = JSON.parse(printed);
  return { mb: Number(kilobytes) / 1024, seconds: (performance.now() - from) / 1000, end: success ? "ok" : code };
}

/** The most that a process may have for a guest of this limit, MB. P lies there as UTF-8 and, once a cell has touched it, in the guest. */
export const boundFor = (limitMb: number, { contextMb = 0, waiting = 0 }: Partial<SessionsCase> = {}) =>
  150 + 1.7 * limitMb + 2 * contextMb + WAITING_MB * waiting;

/** A thread of Node takes 11 MB before it does anything. */
const WAITING_MB = 24;

/** A module that prints the peak when the process ends. What the system says of ended children has the parent's memory in it too. */
const TELLS = `data:text/javascript,${encodeURIComponent(`
  import { readFileSync } from "node:fs";
  import { isMainThread } from "node:worker_threads";
  if (isMainThread) process.on("exit", () => console.error(readFileSync("/proc/self/status", "utf8")));`)}`;
