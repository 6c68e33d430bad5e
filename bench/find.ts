import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { DEFAULT_EXEC_LIMITS } from "../runtime/limits.ts";
import type { Corpus } from "./corpus.ts";
import type { Engine, FindAnswer, FindQuestion, FindThreadData } from "./find-thread.ts";
import { type Measured, median, takeTurns } from "./measure.ts";
import type { Case, Report } from "./report.ts";
import { size } from "./size.ts";

const ENGINES: readonly Engine[] = ["Belay find", "re2js", "native RegExp"];
export const PATTERNS: readonly (readonly [pattern: string, flags: string])[] = [
  ["zzyzx", ""],
  ["TODO", ""],
  ["TODO|FIXME|HACK", "i"],
  ["function\\s+\\w+", ""],
  ["class\\s+(\\w+)", ""],
  ["\\b\\w+@\\w+\\.\\w+\\b", ""],
  [".*error.*", "i"],
  ["^\\s*import .* from", "m"],
  ["[a-z]+ing\\b", ""],
  ["[A-Z]{3,}_[A-Z]+", ""],
  ["(a+)+$", ""],
  ["\\s+", ""],
  [".", ""],
];
const GIVE_UP_MS = size(10_000, 200);
const MOST_MS = 500;
export const LIMIT = DEFAULT_EXEC_LIMITS.max_find_results;

/** The first 10,000 matches of patterns in the whole corpus; every engine in a thread of its own. */
export async function benchFind({ context }: Corpus): Promise<Report> {
  const threads = ENGINES.map((engine) => openThread({ engine, text: context.text.data }));
  const cases: Case[] = [];
  const own: { name: string; ms: number; cpuMs: number }[] = [];
  // One of the least is given up.
  for (const [pattern, flags] of size(PATTERNS, PATTERNS.slice(-3))) {
    const question = { pattern, flags, limit: LIMIT };
    const answers = threads.map(({ engine }): Answers => ({ engine, given: [] }));
    const contestants = threads.map(({ engine, ask }, index) => ({
      name: engine,
      async once() {
        const answer = await ask(question);
        if (answer) answers[index]?.given.push(answer);
        return answer?.ms;
      },
    }));
    const measured = await takeTurns(contestants, { rounds: 9, warmups: 1, budgetMs: 3000 });
    const name = `/${pattern}/${flags}`;
    cases.push({ name, measured, remarks: remarksOn(measured, answers) });
    const [belay] = measured;
    const ms = belay?.gaveUp ? GIVE_UP_MS : median(belay?.samples ?? []);
    own.push({ name, ms, cpuMs: cpuOf(answers[0]) });
  }
  await Promise.all(threads.map(({ close }) => close()));
  const slowest = own.reduce((worst, one) => (one.ms > worst.ms ? one : worst));
  return {
    title: `find: first ${LIMIT.toLocaleString("en-US")} matches in the corpus, from the pattern's source to the list`,
    cases,
    notes: [
      `A run is ended after ${GIVE_UP_MS / 1000} s; a contestant that has taken 3 s in sum is not asked again. CPU is that of its thread, without the collector's. "other matches" says that the dialects differ (\\w, \\s and \\b are Unicode's in Belay).`,
      "One line of 40 letters a is planted in the corpus; engines that backtrack try 2^40 ways on it.",
    ],
    aims: [
      {
        text: "no find pattern above 0.5 s per 10 MB",
        value: `${seconds(slowest.ms)}, of them CPU ${seconds(slowest.cpuMs)} (${slowest.name})`,
        met: slowest.ms <= MOST_MS,
      },
    ],
  };
}

interface Answers {
  readonly engine: Engine;
  readonly given: FindAnswer[];
}

function remarksOn(measured: readonly Measured[], answers: readonly Answers[]): Record<string, string> {
  const own = answers[0]?.given[0]?.checksum;
  const remarks = answers.map(({ engine, given }) => {
    const [first] = given;
    const gaveUp = measured.some(({ name, gaveUp }) => name === engine && gaveUp);
    if (gaveUp || !first) return [engine, `in ${GIVE_UP_MS / 1000} s`] as const;
    const cpu = cpuOf({ engine, given });
    const count = `${first.found.toLocaleString("en-US")} found, CPU ${Math.round(cpu)} ms`;
    return [engine, first.checksum === own ? count : `${count}, other matches`] as const;
  });
  return Object.fromEntries(remarks);
}

function cpuOf(answers: Answers | undefined): number {
  return median(answers?.given.map(({ cpuMs }) => cpuMs) ?? []);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`;
}

/** A thread that is ended if it does not answer in time, and replaced for the next question. */
function openThread(data: FindThreadData) {
  let worker: Worker | undefined;
  return {
    engine: data.engine,
    async ask(question: FindQuestion): Promise<FindAnswer | undefined> {
      worker ??= new Worker(new URL("./find-thread.ts", import.meta.url), { workerData: data });
      worker.postMessage(question);
      try {
        const [answer]: FindAnswer[] = await once(worker, "message", { signal: AbortSignal.timeout(GIVE_UP_MS) });
        return answer;
      } catch (error) {
        if (!(error instanceof Error && error.name === "AbortError")) throw error;
        await worker.terminate();
        worker = undefined;
        return undefined;
      }
    },
    async close() {
      await worker?.terminate();
    },
  };
}
