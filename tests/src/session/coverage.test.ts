import { expect, onTestFinished, test } from "vitest";
import { openSessionWith } from "../../../src/session/index.ts";
import type { Complete } from "../../../src/session/journal/records.ts";
import { openStore, type Store } from "../../../src/store/index.ts";
import { startModelServer } from "../../support/model-server.ts";
import { openScripted } from "../../support/scripted-session.ts";
import { storeAround } from "../../support/store-around.ts";

process.env.ASK_KEY = "k";

/** 2,048 lines of 100 characters: each is a stretch. */
const LINES = Array.from({ length: 2048 }, (_, at) => `line ${at} `.padEnd(98, String(at % 10)).concat(";\n"));
const TEXT = LINES.join("");

function numbersIn(base64 = ""): number[] {
  const bytes = Buffer.from(base64, "base64");
  return Array.from({ length: bytes.length * 8 }, (_, at) => at).filter(
    (at) => ((bytes[at >> 3] ?? 0) >> (at & 7)) & 1,
  );
}

function numbersOf({ coverage }: Pick<Complete, "coverage">) {
  if (!coverage) return null;
  const { read, matched, sent, whole = false } = coverage;
  return { read: numbersIn(read), matched: numbersIn(matched), sent: numbersIn(sent), whole };
}

const isEnd = (record: { readonly record: string }): record is Complete => record.record === "rlm_complete";

/** The ends of the cells, over TEXT as one document `lines`, or over nothing. */
async function endsOf(cells: readonly string[], text: string | null = TEXT): Promise<readonly Complete[]> {
  const { session, journal } = await openScripted(() => "ok", { budget: { max_sub_calls: 40 } });
  if (text !== null) await session.load({ text, name: "lines" });
  for (const code of cells) expect(await session.exec(code)).toMatchObject({ success: true });
  return (await journal()).filter(isEnd).filter(({ kind }) => kind === "cell");
}

test("the end of a cell says which stretches of P it read, which find matched, and which went to a model", async () => {
  const start = TEXT.indexOf("line 0");
  const [looks, counts, sends, touches, nothing] = await endsOf(
    [
      `peek(${start} + 300, ${start} + 450); peek_doc("lines", 1000, 1010); peek(5, 5); find("line 20[01] ")`,
      "count('line'); doc_at(5); list_docs()",
      `const text = peek(${start} + 500, ${start} + 700); const { matches } = find("line 99 ");
     await llm_query("Sum up: " + text + " and " + peek(matches[0][0], matches[0][0] + 80) + "."); await llm_query("2 + 2")`,
      "P.length",
      "1 + 1",
    ].map((code) => code),
  ).then((ends) => ends.map(numbersOf));
  expect(looks).toEqual({ read: [3, 4, 10], matched: [200, 201], sent: [], whole: false });
  expect(counts).toEqual({ read: [], matched: [], sent: [], whole: false });
  expect(sends).toEqual({ read: [5, 6, 99], matched: [99], sent: [5, 6, 99], whole: false });
  expect(touches).toMatchObject({ read: [], whole: true });
  expect(nothing).toEqual({ read: [], matched: [], sent: [], whole: false });
});

test("search hits are read", async () => {
  const [end] = await endsOf(["search('1234', 1).map(({ start, end }) => [start, end])"]);
  const [[from, to]] = end?.end?.kind === "ok" ? JSON.parse(end.end.result) : [[0, 0]];
  expect(to - from).toBeGreaterThan(500);
  const { read = [] } = (end && numbersOf(end)) ?? {};
  expect([read[0], read.at(-1)]).toEqual([Math.floor(from / 100), Math.floor((to - 1) / 100)]);
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
await llm_query("three: " + peek(matches[0][0], matches[0][0] + 90), []);`;

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
  expect(numbersOf(whole)).toMatchObject({ matched: [500] });
  let resumed = 0;
  for (let nth = 2; nth <= whole.commits; nth++) {
    for (const after of [false, true]) {
      const cut = await coverageWith(store, server.url, `${nth}-${after}`, { nth, after });
      if (!cut.resumed) continue;
      resumed++;
      expect(cut.coverage, `${nth} ${after}`).toEqual(whole.coverage);
    }
  }
  expect(whole.commits).toBe(8);
  expect(resumed).toBeGreaterThanOrEqual(12);
}, 60_000);
