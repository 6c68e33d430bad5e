import { parentPort, workerData } from "node:worker_threads";
import { RE2JS } from "re2js";
import { find } from "../src/context/find/find.ts";
import { compileFind } from "../src/context/find/pattern.ts";
import { openText, type TextData } from "../src/context/text/text.ts";

export type Engine = "Belay find" | "re2js" | "native RegExp";

export interface FindThreadData {
  readonly engine: Engine;
  readonly text: TextData;
}

export interface FindQuestion {
  readonly pattern: string;
  readonly flags: string;
  readonly limit: number;
}

export interface FindAnswer {
  /** From the pattern's source to the list of matches. */
  readonly ms: number;
  /** CPU time of the thread, ms: what a machine without other work would need. */
  readonly cpuMs: number;
  readonly found: number;
  /** Equal for equal lists of matches. */
  readonly checksum: number;
}

type Find = (question: FindQuestion) => readonly (readonly [start: number, end: number])[];

// One engine in a thread of its own, so that it can be ended from outside.
const { engine, text }: FindThreadData = workerData;
const search = searcher();
parentPort?.on("message", (question: FindQuestion) => {
  const cpu = process.threadCpuUsage();
  const start = performance.now();
  const matches = search(question);
  const ms = performance.now() - start;
  const { user, system } = process.threadCpuUsage(cpu);
  const answer: FindAnswer = {
    ms,
    cpuMs: (user + system) / 1000,
    found: matches.length,
    checksum: matches.flat().reduce(mix, 0),
  };
  parentPort?.postMessage(answer);
});

function searcher(): Find {
  const opened = openText(text);
  if (engine === "Belay find") {
    return ({ pattern, flags, limit }) => find(opened, compileFind(pattern, flags), limit).matches;
  }
  const haystack = opened.slice(0, opened.length);
  return engine === "re2js" ? re2js(haystack) : native(haystack);
}

function native(haystack: string): Find {
  return ({ pattern, flags, limit }) => {
    const matches: [number, number][] = [];
    for (const match of haystack.matchAll(new RegExp(pattern, `${flags}g`))) {
      if (matches.push([match.index, match.index + match[0].length]) === limit) break;
    }
    return matches;
  };
}

function re2js(haystack: string): Find {
  const bits = new Map([
    ["i", RE2JS.CASE_INSENSITIVE],
    ["m", RE2JS.MULTILINE],
    ["s", RE2JS.DOTALL],
  ]);
  return ({ pattern, flags, limit }) => {
    const matcher = RE2JS.compile(
      pattern,
      [...flags].reduce((sum, flag) => sum | (bits.get(flag) ?? 0), 0),
    ).matcher(haystack);
    const matches: [number, number][] = [];
    while (matches.length < limit && matcher.find()) matches.push([matcher.start(), matcher.end()]);
    return matches;
  };
}

function mix(sum: number, offset: number): number {
  return (Math.imul(sum, 31) + offset) | 0;
}
