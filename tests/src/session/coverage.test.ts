import { expect, onTestFinished, test } from "vitest";
import { openSessionWith } from "../../../src/session/index.ts";
import { SETS } from "../../../src/session/journal/coverage.ts";
import type { Complete } from "../../../src/session/journal/records.ts";
import { rangesIn } from "../../../src/session/machine/ranges.ts";
import { openStore, type Store } from "../../../src/store/index.ts";
import { startModelServer } from "../../support/model-server.ts";
import { openScripted } from "../../support/scripted-session.ts";
import { storeAround } from "../../support/store-around.ts";

process.env.ASK_KEY = "k";

/** 2,048 lines of 100 characters, in which no 64 characters stand twice. */
const LINES = Array.from({ length: 2048 }, (_, at) => {
  const words = Array.from({ length: 20 }, (_, word) => Math.imul(at * 20 + word + 1, 2654435761) >>> 0);
  return `line ${at} ${words.map((word) => word.toString(36)).join(" ")}`.slice(0, 98).concat(";\n");
});
const TEXT = LINES.join("");

/** The ranges of a record by set, without the empty ones. */
function setsOf({ coverage }: Pick<Complete, "coverage">) {
  if (!coverage) return null;
  const { ranges, whole = false } = coverage;
  const all = SETS.map((set) => [set, rangesIn(ranges?.[set] ?? "", Number.POSITIVE_INFINITY)] as const);
  return { ...Object.fromEntries(all.filter(([, pairs]) => pairs.length > 0)), ...(whole ? { whole } : {}) };
}

const isEnd = (record: { readonly record: string }): record is Complete => record.record === "rlm_complete";

/** The ends of the cells, over TEXT as one document `lines`, or over nothing. */
async function endsOf(cells: readonly string[], text: string | null = TEXT): Promise<readonly Complete[]> {
  const { session, journal } = await openScripted(() => "ok", { budget: { max_sub_calls: 40 } });
  if (text !== null) await session.load({ text, name: "lines" });
  for (const code of cells) expect(await session.exec(code)).toMatchObject({ success: true });
  return (await journal()).filter(isEnd).filter(({ kind }) => kind === "cell");
}

test("the end of a cell says which ranges of P it was given, which find matched, and which went to a model", async () => {
  const at = TEXT.indexOf("line 0");
  const ends = await endsOf([
    `peek(${at} + 300, ${at} + 450); peek_doc("lines", 1000, 1010); peek(5, 5); find("line 20[01] ")`,
    "count('line'); doc_at(5); list_docs()",
    `globalThis.text = peek(${at} + 500, ${at} + 700); const { matches } = find("line 99 ");
     await llm_query("Sum up: " + text.slice(20, 190) + "!"); await llm_query("2 + 2")`,
    `await llm_query("Of before: " + text.slice(0, 150) + "."); await rlm_query("Look", { context: [[7, 9]] })`,
    `P.length; await llm_query(P.slice(${at} + 100_003, ${at} + 100_303))`,
    "1 + 1",
  ]);
  const within = (start: number, end: number) => [at + start, at + end];
  const [looks, counts, sends, keeps, touches, nothing] = ends.map(setsOf);
  expect(looks).toEqual({
    given: [within(300, 450), within(1000, 1010)],
    found: [within(20_000, 20_009), within(20_100, 20_109)],
  });
  expect(counts).toEqual({});
  expect(sends).toEqual({ given: [within(500, 700)], found: [within(9900, 9908)], shown: [within(520, 690)] });
  expect(keeps).toEqual({ shown: [[7, 9], within(500, 650)] });
  expect(touches).toEqual({ given: [[0, at + TEXT.length]], shown: [within(100_003, 100_303)], whole: true });
  expect(nothing).toEqual({});
});

test("search hits are ranked, and their texts are recognised", async () => {
  const [end] = await endsOf([
    `const [{ start, end, text }] = search("line 1234", 1); await llm_query(text.slice(40)); [start, end]`,
  ]);
  const [from, to] = end?.end?.kind === "ok" ? JSON.parse(end.end.result) : [0, 0];
  expect(to - from).toBeGreaterThan(500);
  expect(end && setsOf(end)).toEqual({ ranked: [[from, to]], shown: [[from + 40, to]] });
});

test("without a context there is nothing to cover, and the state of the record has none of it", async () => {
  const [without] = await endsOf(["1"], null);
  expect(without).not.toHaveProperty("coverage");
  const [end] = await endsOf(["peek(0, 10)"]);
  expect(end?.state).not.toHaveProperty("library");
  expect(end?.coverage?.context_hash).toBe(end?.context_hash);
});

/** Reads, asks, reads on: what it sends last was given to it before the first call. */
const CELL = `const first = peek(10000, 10200);
const { matches } = find("line 500 ");
await llm_query("one", []);
peek(20000, 20100);
await llm_query("two: " + first, []);
await llm_query("three: " + peek(matches[0][0], matches[0][0] + 190), []);`;

/** The coverage of CELL, by a process that dies at the nth commit of it, or after it, and another that resumes. */
async function coverageWith(store: Store, url: string, session: string, dies: { nth: number; after: boolean } | null) {
  const open = (in_: Store) =>
    openSessionWith({ model: "local/m", baseUrl: url, apiKeyEnv: "ASK_KEY", session, store: "-" }, { store: in_ });
  let commits = Number.NEGATIVE_INFINITY;
  let isDead = false;
  const dying = storeAround(store, async (operation, run) => {
    if (operation === "release") return run();
    if (isDead) throw new Error("the process is gone");
    if (operation !== "commit" || dies?.nth !== ++commits) return run();
    isDead = true;
    if (dies.after) await run();
    throw new Error("the process is gone");
  });
  const first = await open(dying);
  await first.load({ text: TEXT, name: "lines" });
  commits = 0;
  await first.exec(CELL).catch(() => {});
  await first.close().catch(() => {});
  const next = await open(store);
  if (next.unfinished()) await next.resume();
  await next.close();
  const row = await store.find(session);
  const records = (await store.journal(row?.id ?? "")).map(({ record }) => JSON.parse(JSON.stringify(record)));
  const coverage = records.findLast((record) => record.record === "rlm_complete" && record.kind === "cell")?.coverage;
  return { coverage, commits, resumed: records.some(({ record }) => record === "rlm_resume") };
}

test("a cell that was killed and resumed, before or after any of its commits, has the same coverage", async () => {
  const server = await startModelServer(() => ({ text: "ok" }));
  onTestFinished(() => server.close());
  await using store = await openStore(null);
  const whole = await coverageWith(store, server.url, "whole", { nth: -1, after: false });
  const at = TEXT.indexOf("line 500 ");
  expect(setsOf(whole)).toMatchObject({
    found: [[at, at + 9]],
    shown: [
      [10_000, 10_200],
      [at, at + 190],
    ],
  });
  let resumed = 0;
  for (let nth = 2; nth <= whole.commits; nth++) {
    // A death after a commit is much like one before the next.
    const after = nth % 2 === 0;
    const cut = await coverageWith(store, server.url, `${nth}`, { nth, after });
    if (!cut.resumed) continue;
    resumed++;
    expect(cut.coverage, `${nth} ${after}`).toEqual(whole.coverage);
  }
  expect(whole.commits).toBe(8);
  expect(resumed).toBeGreaterThanOrEqual(6);
});
