import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { count, find } from "../src/context/find/find.ts";
import { compileFind } from "../src/context/find/pattern.ts";
import { openSession } from "../src/index.ts";
import type { Corpus } from "./corpus.ts";
import { LIMIT, PATTERNS } from "./find.ts";
import { loads, touches } from "./load.ts";
import { type Contestant, takeTurns, timed } from "./measure.ts";
import { type Aim, aimAtMost, type Case, figuresOf, type Report } from "./report.ts";
import { benchSearch } from "./search.ts";

const TURNS = { rounds: 5, warmups: 1, budgetMs: 1500 };
/** One index of 100 MB takes a peer half a minute, and one that is kept takes it ten seconds to open. */
const INDEX_TURNS = { rounds: 3, warmups: 0, budgetMs: 1500 };
/** Patterns that have too many matches for a count, and those that take native RegExp a minute or do not end. */
const UNCOUNTED = ["\\s+", "."];
const NOT_NATIVE = ["(a+)+$", ".*error.*"];

/** The rows of docs/benchmarks.md at one size of P. */
export async function benchTableRows(corpus: Corpus): Promise<Report> {
  const search = await benchSearch(corpus, { turns: INDEX_TURNS, isCompared: false });
  const patterns = await patternCases(corpus);
  const cases: Case[] = [
    { name: "load", measured: await loads(corpus, TURNS) },
    ...patterns.cases,
    ...search.cases.map((one) => ({ ...one, name: `search: ${one.name}` })),
    { name: "P into the guest", measured: await touches(corpus, TURNS) },
    ...(await sessionCases(corpus)),
  ];
  return {
    title: `${(corpus.context.text.bytes / 2 ** 20).toFixed(1)} MB of P`,
    cases,
    aims: [...search.aims, ...ripgrepAim(patterns.cases)],
    notes: patterns.notes,
  };
}

async function patternCases({ context: { text }, scratch }: Corpus) {
  const plain = text.slice(0, text.length);
  const file = join(scratch(), "P.txt");
  writeFileSync(file, text.read(0, text.bytes));
  const ripgrep = await ripgrepPath();
  const cases: Case[] = [];
  for (const [pattern, flags] of PATTERNS) {
    const native = (most: number) => countUpTo(plain.matchAll(new RegExp(pattern, `${flags}g`)), most);
    const peers = (most: number) =>
      NOT_NATIVE.includes(pattern) ? [] : [contestant("native RegExp", () => native(most))];
    const first = [contestant("Belay", () => find(text, compileFind(pattern, flags), LIMIT)), ...peers(LIMIT)];
    cases.push({ name: `find /${pattern}/${flags}`, measured: await takeTurns(first, TURNS) });
    if (UNCOUNTED.includes(pattern)) continue;
    const grep = ["--count-matches", "--no-config", "-a", ...(flags.includes("i") ? ["-i"] : []), pattern, file];
    const all = [
      contestant("Belay", () => count(text, compileFind(pattern, flags))),
      ...(ripgrep === undefined ? [] : [contestant("ripgrep", () => ripgrepCounts(ripgrep, grep))]),
      ...peers(Number.POSITIVE_INFINITY),
    ];
    cases.push({ name: `count /${pattern}/${flags}`, measured: await takeTurns(all, TURNS) });
  }
  return { cases, notes: ripgrep === undefined ? ["ripgrep is not on this machine."] : [] };
}

/** That of 100 MB: within less ripgrep's start counts. */
function ripgrepAim(cases: readonly Case[]): Aim[] {
  const ratios = cases.flatMap((one) => {
    const ratio = figuresOf(one).find(({ contestant }) => contestant === "ripgrep")?.belay_ratio;
    return ratio == null ? [] : [ratio];
  });
  return ratios.length === 0 ? [] : [aimAtMost("count ≤ 2x ripgrep, at 100 MB", Math.max(...ratios), 2, "x")];
}

const contestant = (name: string, work: () => unknown): Contestant => ({ name, once: () => timed(work) });

function countUpTo(matches: Iterable<unknown>, most: number): number {
  let count = 0;
  for (const _match of matches) if (++count === most) break;
  return count;
}

async function ripgrepPath(): Promise<string | undefined> {
  return import("@vscode/ripgrep").then(({ rgPath }) => rgPath).catch(() => undefined);
}

/** It ends with 1 if it finds nothing. */
function ripgrepCounts(path: string, args: readonly string[]): void {
  try {
    execFileSync(path, args, { stdio: ["ignore", "ignore", "inherit"] });
  } catch (error) {
    if (!(error instanceof Error && "status" in error && error.status === 1)) throw error;
  }
}

/** What a session does with P: a look at it, a first search, and to be opened again. */
async function sessionCases({ folder, scratch }: Corpus): Promise<Case[]> {
  const options = { roots: [folder], cwd: folder, store: scratch(), session: "s" };
  const indexDir = scratch();
  const exec = async (session: Awaited<ReturnType<typeof openSession>>, cell: string) => {
    const envelope = await session.exec(cell);
    if (!envelope.success) throw new Error(envelope.error_message);
  };
  const peeks: Contestant[] = [];
  await using first = await openSession({ ...options, indexDir });
  await first.load(folder);
  peeks.push({ name: "Belay", once: () => timed(() => exec(first, "peek(P.length >> 1, (P.length >> 1) + 200)")) });
  await exec(first, "var kept = P.length");
  const peeked = await takeTurns(peeks, TURNS);
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  await exec(first, 'search("error", 1)');
  delay.disable();
  await first.close();
  const reopened = await takeTurns(
    [
      {
        name: "Belay",
        async once() {
          const start = performance.now();
          await using session = await openSession({ ...options, indexDir });
          await exec(session, "kept");
          return performance.now() - start;
        },
      },
    ],
    TURNS,
  );
  return [
    { name: "peek of 200 characters, a warm exec", measured: peeked },
    { name: "a session opened again, to its first answer", measured: reopened },
    {
      name: "main loop, longest hold while an index is made",
      measured: [{ name: "Belay", samples: [delay.max / 1e6], gaveUp: false }],
    },
  ];
}
