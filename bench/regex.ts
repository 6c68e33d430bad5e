import { RE2 } from "re2-wasm";
import { RE2JS } from "re2js";
import { RRegex } from "rregex";
import { findAll } from "../src/context/find/engine.ts";
import type { Corpus } from "./corpus.ts";
import { takeTurns } from "./measure.ts";
import type { Case, Report } from "./report.ts";
import { size } from "./size.ts";

const MB = 2 ** 20;
const SEARCHED_BYTES = size(MB, MB / 16);
/** The size that find's windows grow to. */
const WINDOW_BYTES = 64 * 1024;
const GIVE_UP_MS = size(5000, 200);
const PATTERNS = ["TODO|FIXME", "class\\s+(\\w+)", "\\b\\w+@\\w+\\.\\w+\\b", "[a-z]+ing\\b", "(a+)+$", "\\s+"];

/** A window in both forms: what each engine takes must not be made while it is timed. */
interface Window {
  readonly bytes: Uint8Array;
  readonly text: string;
}

type Count = (pattern: string, windows: readonly Window[], expired: () => boolean) => number;

/** All engines match in linear time; what differs is how text and matches cross the border of WebAssembly. */
export async function benchRegex({ context }: Corpus): Promise<Report> {
  const windows = windowsOf(context.text.read(0, SEARCHED_BYTES));
  const contestants: readonly (readonly [name: string, count: Count])[] = [
    ["rregex, as find calls it", (pattern, windows) => sum(windows, ({ bytes }) => findAll(pattern, [bytes]).length)],
    [
      "rregex findAll",
      (pattern, windows) => {
        const regex = new RRegex(pattern);
        const found = sum(windows, ({ text }) => regex.findAll(text).length);
        regex.free();
        return found;
      },
    ],
    ["re2-wasm exec", re2Wasm],
    [
      "re2js find",
      (pattern, windows) => {
        const regex = RE2JS.compile(pattern);
        return sum(windows, ({ text }) => {
          const matcher = regex.matcher(text);
          let found = 0;
          while (matcher.find()) found++;
          return found;
        });
      },
    ],
  ];
  const cases: Case[] = [];
  for (const pattern of PATTERNS) cases.push(await benchPattern(pattern, contestants, windows));
  return {
    title: `regex: all matches in the first ${SEARCHED_BYTES / MB} MB of the corpus, in windows of ${WINDOW_BYTES / 1024} KB, from the pattern's source to their number`,
    cases,
    notes: [
      `A run is ended after ${GIVE_UP_MS / 1000} s. Numbers of matches differ because \\w, \\s and \\b are Unicode's in rregex.`,
      "exec of re2-wasm hands the whole window over again for each match. The part `find` measures find itself.",
    ],
    aims: [],
  };
}

async function benchPattern(
  pattern: string,
  engines: readonly (readonly [name: string, count: Count])[],
  windows: readonly Window[],
): Promise<Case> {
  const found: Record<string, string> = {};
  const contestants = engines.map(([name, count]) => ({
    name,
    async once() {
      const start = performance.now();
      const expired = () => performance.now() - start > GIVE_UP_MS;
      const matches = count(pattern, windows, expired);
      found[name] = expired()
        ? `${matches.toLocaleString("en-US")} found by then`
        : `${matches.toLocaleString("en-US")} found`;
      return expired() ? undefined : performance.now() - start;
    },
  }));
  const measured = await takeTurns(contestants, { rounds: 9, warmups: 2, budgetMs: 3000 });
  return { name: `/${pattern}/`, measured, remarks: found };
}

function re2Wasm(pattern: string, windows: readonly Window[], expired: () => boolean): number {
  const regex = new RE2(pattern, "gu");
  return sum(windows, ({ text }) => {
    regex.lastIndex = 0;
    let found = 0;
    while (!expired() && regex.exec(text)) found++;
    return found;
  });
}

function windowsOf(bytes: Uint8Array): Window[] {
  const windows: Window[] = [];
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  for (let start = 0; start < bytes.length; ) {
    const end = start + bytes.subarray(start, start + WINDOW_BYTES).lastIndexOf(NEWLINE) + 1;
    if (end === start) break;
    // A copy: decoders refuse memory that threads share.
    const window = bytes.slice(start, end);
    windows.push({ bytes: window, text: decoder.decode(window) });
    start = end;
  }
  return windows;
}

const NEWLINE = 10;

function sum(windows: readonly Window[], count: (window: Window) => number): number {
  return windows.reduce((total, window) => total + count(window), 0);
}
