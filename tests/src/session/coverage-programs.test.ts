import { expect, test } from "vitest";
import { openSessionWith } from "../../../src/session/index.ts";
import { type CoverageSet, SETS } from "../../../src/session/journal/coverage.ts";
import { merged, type Range, rangesIn } from "../../../src/session/machine/ranges.ts";
import { forkSession } from "../../../src/session/stored/sessions.ts";
import { openStore, type Store } from "../../../src/store/index.ts";
import { startModelServer } from "../../support/model-server.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { storeAround } from "../../support/store-around.ts";
import { folderWith } from "../../support/tree.ts";

// Random programs know of themselves what they look at: their records tell exactly that, whatever is killed, closed or forked.

const SEEDS = Number(process.env.BELAY_SEEDS ?? 2);
const DOCUMENTS = 40;
const CELLS = 4;

/** Cells look on at what is in scope: ALL documents, N characters of P, KEEP of an earlier cell, and G, the truth by set. */
const BEGIN = `globalThis.ALL ??= list_docs(undefined, { limit: 500 });
globalThis.N = ALL.at(-1).end;
globalThis.G = { shown: [], found: [], ranked: [], given: [], printed: [] };
globalThis.KEEP ??= null;
const taken = (share, units) => { const at = Math.floor(share * (N - units)); const text = peek(at, at + units); G.given.push([at, at + text.length]); return [at, text]; };
const send = async (at, text, first, last) => { G.shown.push([at + first, at + last]); await llm_query("Q <<" + text.slice(first, last) + ">>", { tools: [] }); };
`;

/** The acts of a cell, by a random share, a length and two words of the corpus. */
const ACTS: readonly ((share: number, units: number, one: string, other: string) => string)[] = [
  (share, units) => `taken(${share}, ${units});`,
  (_share, _units, one) => `for (const [start, end] of find("${one}").matches) G.found.push([start, end]);`,
  (_share, _units, one, other) =>
    `for (const { start, end, text } of search("${one} ${other}", 3)) { G.ranked.push([start, end]); if (text.length > 400) { KEEP = [start, text]; await send(start, text, 30, 330); } }`,
  (share) =>
    `{ const { id, start } = ALL[Math.floor(${share} * ALL.length)]; const text = peek_doc(id); G.given.push([start, start + text.length]); await send(start, text, 0, text.length); }`,
  (share, units) =>
    `{ const [at, text] = taken(${share}, ${units}); KEEP = [at, text]; await send(at, text, 0, text.length); }`,
  (share, units) => `{ const [at, text] = taken(${share}, ${units}); await send(at, text, 17, text.length - 23); }`,
  () => `if (KEEP) await send(KEEP[0], KEEP[1], 9, 160);`,
  (share, units) =>
    `{ const [at, text] = taken(${share}, ${units}); await llm_query("Q <<" + text.replaceAll(/(.{9})./gs, "$1§") + ">>", { tools: [] }); }`,
  (share) =>
    `{ const [at, text] = taken(${share}, 300); G.printed.push([at + 20, at + 270]); print("<<" + text.slice(20, 270) + ">>"); }`,
];
/** Touches all of P. Then everything is given, so it comes last. */
const TOUCH = (share: number) =>
  `{ if (!globalThis.TOUCHED) { TOUCHED = true; G.given.push([0, P.length]); } const at = Math.floor(${share} * (N - 500)); await send(at, P.slice(at, at + 500), 0, 500); }`;

function programsOf(random: () => number) {
  const int = (least: number, most: number) => least + Math.floor(random() * (most - least));
  const letters = (count: number) => Array.from({ length: count }, () => String.fromCharCode(int(97, 123))).join("");
  const words = Array.from({ length: 3000 }, () => letters(int(3, 9)) + (random() < 0.02 ? "é€" : ""));
  const word = () => words[int(0, words.length)] ?? "";
  const files = Array.from({ length: DOCUMENTS }, (_, at): [string, string] => {
    const text = Array.from({ length: int(40, 400) }, () => word() + (random() < 0.1 ? ".\n" : " "));
    return [`d${String(at).padStart(3, "0")}.txt`, text.join("")];
  });
  const cells = Array.from({ length: CELLS }, (_, at) => {
    const acts = Array.from({ length: int(3, 8) }, () =>
      ACTS[int(0, ACTS.length)]?.(random(), int(200, 2000), word(), word()),
    );
    return [BEGIN, ...acts, ...(at === CELLS - 1 ? [TOUCH(random())] : []), "result = G;"].join("\n");
  });
  return { files: Object.fromEntries(files), cells };
}

/** The store of a process that dies after this many commits. */
function dyingAfter(store: Store, commits: number): Store {
  let left = commits;
  return storeAround(store, async (operation, run) => {
    if (operation === "release") return run();
    if (operation === "commit" && left-- === 0) left = -1;
    if (left < 0) throw new Error("the process is gone");
    return run();
  });
}

/** Runs the programs in processes that are killed, closed or forked at random. Returns what records tell, and the truth. */
async function play(seed: number, store: Store, url: string) {
  const random = seededRandom(seed);
  const { files, cells } = programsOf(random);
  const folder = folderWith(files);
  const options = {
    model: "local/m",
    baseUrl: url,
    apiKeyEnv: "COVERAGE_KEY",
    cwd: folder,
    roots: [folder],
    store: "-",
  };
  const budget = { max_sub_calls: 200 };
  const open = (name: string, in_: Store) =>
    openSessionWith({ ...options, budget, session: name }, { store: in_, origin: "mcp" });
  let name = `s${seed}`;
  let session = await open(name, store);
  await session.load(folder);
  let kills = 0;
  for (const [number, cell] of cells.entries()) {
    const fate = random();
    if (fate < 0.75) {
      await session.close();
      session = await open(name, fate < 0.5 ? dyingAfter(store, Math.floor(random() * 12)) : store);
    }
    const done = await session.exec(cell).catch(() => null);
    if (done?.success !== true) {
      await session.close().catch(() => {});
      session = await open(name, store);
      const isBegun = session.unfinished() !== null;
      kills += isBegun ? 1 : 0;
      const again = isBegun ? (await session.resume())?.envelope : await session.exec(cell);
      expect({ seed, number, again }).toMatchObject({ again: { success: true } });
    }
    if (random() < 0.3) {
      await session.close();
      const fork = { id: `01FORK${seed}X${number}`, name: `${name}-${number}`, checkpoint: null, at: number };
      await forkSession(store, name, { ...fork, origin: "mcp", settings: () => null });
      name = fork.name;
      session = await open(name, store);
    }
  }
  const { id } = session;
  await session.close();
  const records = (await store.journal(id)).map(({ record }) => JSON.parse(JSON.stringify(record)));
  const ends = records.filter(({ record, kind }) => record === "rlm_complete" && kind === "cell");
  const last = ends.slice(-CELLS).map(({ coverage, end }) => {
    const truth: Record<CoverageSet, Range[]> = JSON.parse(end.result);
    return SETS.map((set) => ({
      told: rangesIn(coverage.ranges[set], Number.POSITIVE_INFINITY),
      truth: merged(truth[set].filter(([from, to]) => from < to)),
      set,
    }));
  });
  return { kills, cells: last };
}

test(`random programs look at what their records tell, over ${SEEDS} seeds of kills and forks`, async () => {
  process.env.COVERAGE_KEY = "k";
  const server = await startModelServer(() => ({ text: "ok" }));
  await using store = await openStore(null);
  let kills = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const played = await play(seed, store, server.url);
    kills += played.kills;
    expect(played.cells).toHaveLength(CELLS);
    for (const [number, sets] of played.cells.entries()) {
      for (const { set, told, truth } of sets)
        expect({ seed, number, set, told }).toEqual({ seed, number, set, told: truth });
    }
  }
  expect(kills).toBeGreaterThan(0);
  await server.close();
}, 600_000);
