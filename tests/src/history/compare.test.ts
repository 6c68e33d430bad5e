import fc from "fast-check";
import { expect, test } from "vitest";
import type { Json } from "../../../runtime/index.ts";
import { load } from "../../../src/context/index.ts";
import { compareSessions } from "../../../src/history/compare.ts";
import { describeWhole } from "../../../src/history/describe.ts";
import { describeExecs } from "../../../src/history/execs.ts";
import type { SessionDescription } from "../../../src/history/index.ts";
import type { ModelRequest } from "../../../src/models/index.ts";
import { keepContext } from "../../../src/session/contexts/contexts.ts";
import { openSessionWith } from "../../../src/session/index.ts";
import { shareStore } from "../../../src/store/index.ts";
import { sessionOf } from "../../support/ask/described.ts";
import { openJournal } from "../../support/ask/journal.ts";
import { journals } from "../../support/journals.ts";
import { openScripted, promptOf, using } from "../../support/scripted-session.ts";
import { folderWith, type Tree } from "../../support/tree.ts";

const ALL = { listed: 1000 };
const PLAIN = { tools: [] };
const NO_STORE = { context: () => never(), contextIndex: () => never(), texts: null };

function never(): never {
  throw new Error("no context is read");
}

interface Made {
  readonly prompt: string;
  readonly options?: Json;
  readonly answer?: string;
  readonly is?: "cached" | "failed";
  readonly model?: string;
}

/** A session with a cell for each list of calls. `flags` are recorded as the command does. */
function madeOf(id: string, cells: Readonly<Record<string, readonly Made[]>>, flags: object = {}): SessionDescription {
  const journal = openJournal(0);
  for (const [at, [source, calls]] of Object.entries(cells).entries()) {
    const exec = `${id}${at}`;
    journal.start(exec, "cell", source);
    for (const [index, { prompt, options = PLAIN, answer = prompt, is, model = "a/b" }] of calls.entries()) {
      journal.call(exec, index + 1, "llm_query", [prompt, options]);
      const failed = is === "failed" ? { success: false, value: { code: "timeout", message: "late" } } : {};
      journal.result(exec, index + 1, "llm_query", answer, { cached: is === "cached", model, ...failed });
    }
    journal.end(exec, "cell");
  }
  const settings: Json = JSON.parse(JSON.stringify({ settings: {}, cwd: "/x", ...flags }));
  return sessionOf(describeExecs(journal.records), { id, name: id, settings });
}

async function compared(now: SessionDescription, before: SessionDescription) {
  return compareSessions(NO_STORE, { session: now, key: null }, { session: before, key: null }, ALL);
}

test("each reason for which a prompt is asked again", async () => {
  const cache = { cache: true };
  const reasons = async (
    more: Partial<Made>,
    was: Partial<Made> = {},
    flags: object = cache,
    others: object = cache,
  ) => {
    const now = madeOf("new", { cell: [{ prompt: "p", ...more }] }, flags);
    const { calls, counts } = await compared(now, madeOf("old", { cell: [{ prompt: "p", ...more, ...was }] }, others));
    expect(counts).toMatchObject({ same: 0, again: 1, new: 0, gone: 0 });
    return calls.map(({ is, why, was: place }) => [is, why, place]);
  };
  const again = (why: string) => [["again", why, { exec: 1, call: 1 }]];
  expect(await reasons({ options: null })).toEqual(again("has tools"));
  expect(await reasons({ options: { tools: ["grep"] } })).toEqual(again("has tools"));
  expect(await reasons({ options: { ...PLAIN, context: [0, 9] } })).toEqual(again("has tools"));
  expect(await reasons({}, { is: "failed" })).toEqual(again("failed before"));
  expect(await reasons({}, { model: "a/c" })).toEqual(again("model changed"));
  expect(await reasons({}, {}, { ...cache, settings: { thinking: "high" } })).toEqual(again("settings changed"));
  expect(await reasons({}, {}, { ...cache, settings: { temperature: 0 } })).toEqual(again("settings changed"));
  expect(await reasons({}, {}, {})).toEqual(again("cache off"));
  expect(await reasons({ options: [] }, {}, cache, {})).toEqual(again("not in the cache"));
});

test("answers from the cache are the same, in whatever order, and each answers for one", async () => {
  const [one, two] = [{ prompt: "one" }, { prompt: "two" }] as const satisfies readonly Made[];
  const now = madeOf("new", {
    cell: [{ ...one, is: "cached" }, { ...two, is: "cached" }, { ...one, is: "cached" }, one],
  });
  const { counts, past, told, cost_usd_asked } = await compared(now, madeOf("old", { cell: [one, one, two] }));
  expect(counts).toEqual({ same: 3, again: 0, new: 1, gone: 0, replaced: 0 });
  expect(past).toEqual({ is_shared: false, calls: 1, last: { exec: 1, call: 1 } });
  expect(cost_usd_asked).toBe(0.01);
  expect(told).toBe("3 calls answered from the cache, 1 asked for the first time ($0.010); the result is the same");
});

test("a call that only the cache answers is not asked for the first time", async () => {
  const cached = (prompt: string) => ({ prompt, is: "cached" }) as const;
  const now = madeOf("new", { cell: [{ prompt: "one" }], again: [cached("one"), cached("two")] });
  const { counts, told, calls } = await compared(now, madeOf("old", { cell: [{ prompt: "one" }] }));
  expect([counts, calls.length]).toEqual([{ same: 2, again: 1, new: 0, gone: 0, replaced: 0 }, 1]);
  expect(told).toMatch(/^2 calls answered from the cache, 1 asked again /);
});

test("a cell that changed, what comes after it, and an answer that changed above", async () => {
  const before = madeOf("old", {
    a: [{ prompt: "p" }, { prompt: "say p" }],
    b: [{ prompt: "q" }],
    c: [{ prompt: "r" }],
  });
  const other = madeOf("new", { a: [{ prompt: "p", answer: "x" }, { prompt: "say x" }], B: [{ prompt: "Q" }], c: [] });
  const { calls, counts } = await compared(other, before);
  expect(calls.map(({ is, exec, call, why, above, was }) => ({ is, at: [exec, call], why, above, was }))).toEqual([
    { is: "again", at: [1, 1], why: "cache off", above: null, was: { exec: 1, call: 1 } },
    { is: "new", at: [1, 2], why: "answer above changed", above: { exec: 1, call: 1 }, was: { exec: 1, call: 2 } },
    { is: "new", at: [2, 1], why: "cell changed", above: null, was: null },
    { is: "gone", at: [1, 2], why: null, above: null, was: null },
    { is: "gone", at: [2, 1], why: null, above: null, was: null },
    { is: "gone", at: [3, 1], why: null, above: null, was: null },
  ]);
  expect(counts).toMatchObject({ new: 2, gone: 3, replaced: 1 });
  const later = madeOf("new", { A: [], c: [{ prompt: "R" }] });
  expect((await compared(later, madeOf("old", { a: [], c: [{ prompt: "r" }] }))).calls[0]?.why).toBe("cell changed");
  expect((await compared(madeOf("new", { c: [{ prompt: "R" }] }), before)).calls[0]?.why).toBeNull();
});

test("calls of one batch are not above each other, and its number is not a part of what they ask", async () => {
  const batched = (id: string, number: number, prompts: readonly string[]) => {
    const journal = openJournal(0);
    journal.start(id, "cell", "cell");
    for (const [at, prompt] of prompts.entries())
      journal.call(id, at + 1, "llm_query", [prompt, PLAIN, { id: number }]);
    for (const at of prompts.keys()) journal.result(id, at + 1, "llm_query", `${id} ${at}`);
    // All are asked in one commit, and the first answer is there at once.
    const records = journal.records.map((record, at) => ({ ...record, at: at <= prompts.length + 1 ? 5 : 6 }));
    return sessionOf(describeExecs(records), { id });
  };
  const { calls, counts } = await compared(batched("new", 2, ["a", "B"]), batched("old", 1, ["a", "b"]));
  expect(counts).toEqual({ same: 0, again: 1, new: 1, gone: 1, replaced: 1 });
  expect(calls[1]).toMatchObject({ is: "new", why: null, above: null, was: { exec: 1, call: 2 } });
});

test("an answer that came later than the call was made is not above it", async () => {
  const late = (id: string, second: string) => {
    const journal = openJournal(0);
    journal.start(id, "cell", "cell");
    journal.call(id, 1, "llm_query", ["slow", PLAIN]);
    journal.call(id, 2, "llm_query", [second, PLAIN]);
    for (const call of [1, 2]) journal.result(id, call, "llm_query", `${id} ${call}`);
    return sessionOf(describeExecs(journal.records), { id });
  };
  const { calls } = await compared(late("new", "B"), late("old", "b"));
  expect(calls[1]).toMatchObject({ is: "new", why: null, above: null });
});

test("a common past ends at another cell, and at another answer; of equal prompts the first stands for the first", async () => {
  const [p, q] = [{ prompt: "p" }, { prompt: "q" }];
  const before = madeOf("old", { a: [p, q], b: [p] });
  const past = async (now: SessionDescription) => (await compared(now, before)).past;
  expect(await past(madeOf("new", { a: [p, q], b: [p] }))).toMatchObject({ calls: 3, last: { exec: 2, call: 1 } });
  expect(await past(madeOf("new", { a: [p, q], c: [p] }))).toMatchObject({ calls: 2, last: { exec: 1, call: 2 } });
  expect(await past(madeOf("new", { a: [p, { ...q, answer: "x" }], b: [p] }))).toMatchObject({ calls: 1 });
  expect(await past(madeOf("new", { z: [q] }))).toEqual({ is_shared: false, calls: 0, last: null });
  const { calls } = await compared(madeOf("new", { a: [p, p] }), before);
  expect(calls.map(({ is, was }) => [is, was])).toEqual([
    ...[
      ["again", { exec: 1, call: 1 }],
      ["again", { exec: 2, call: 1 }],
      ["gone", null],
    ],
  ]);
});

test("a place is paired with one that is gone only if it is known which it was", async () => {
  const before = madeOf("old", { cell: ["a", "b", "c", "d", "e"].map((prompt) => ({ prompt })) });
  const cached = (prompt: string) => ({ prompt, is: "cached" }) as const;
  const now = madeOf("new", { cell: [cached("a"), { prompt: "B" }, cached("c"), { prompt: "D or E" }] });
  const { calls, counts } = await compared(now, before);
  expect(counts).toEqual({ same: 2, again: 0, new: 2, gone: 3, replaced: 2 });
  expect(calls.slice(0, 2).map(({ was }) => was)).toEqual([{ exec: 1, call: 2 }, null]);
});

test("counts are of all calls, and lists are as long as asked for", async () => {
  const calls = (words: string) => Array.from({ length: 50 }, (_, at) => ({ prompt: `${words} ${at}` }));
  const [now, before] = [madeOf("new", { cell: calls("new") }), madeOf("old", { cell: calls("old") })];
  const told = await compareSessions(
    NO_STORE,
    { session: now, key: null },
    { session: before, key: null },
    { listed: 3 },
  );
  expect(told.counts).toEqual({ same: 0, again: 0, new: 50, gone: 50, replaced: 50 });
  expect(told.calls.map(({ is, call }) => `${is} ${call}`)).toEqual([
    ...["new 1", "new 2", "new 3"],
    ...["gone 1", "gone 2", "gone 3"],
  ]);
  expect(told.told).toMatch(/^50 calls asked again \(\$0\.500\); /);
});

test("every call of both sessions is counted once, whatever their journals are", async () => {
  await fc.assert(
    fc.asyncProperty(journals, journals, async (one, other) => {
      const [now, before] = [sessionOf(describeExecs(one)), sessionOf(describeExecs(other))];
      const countOf = ({ execs }: SessionDescription) => execs.reduce((sum, { calls }) => sum + calls.length, 0);
      for (const [newer, older] of [
        [now, before],
        [now, now],
      ] as const) {
        const { counts, calls } = await compared(newer, older);
        expect(counts.same + counts.again + counts.new).toBe(countOf(newer));
        // The cache may answer calls that the older session did not make.
        const cached = newer.execs.flatMap((exec) => exec.calls.filter((call) => call.cached)).length;
        const more = counts.same + counts.again + counts.gone - countOf(older);
        expect(more).toBeGreaterThanOrEqual(0);
        expect(more).toBeLessThanOrEqual(cached);
        expect(calls).toHaveLength(counts.again + counts.new + counts.gone);
      }
      const itself = await compared(now, now);
      expect(itself.counts).toMatchObject({ new: 0, gone: 0 });
      expect(itself.past.is_shared).toBe(now.execs.length > 0);
    }),
  );
});

const LONG = Array.from({ length: 40 }, (_, at) => `line ${at} of a page that is long enough to be known again\n`);

/** The keys of two contexts in a store. */
async function contexts(now: Tree, before: Tree) {
  const store = await shareStore(null);
  const keys: string[] = [];
  for (const tree of [now, before]) {
    const path = folderWith(tree);
    const context = await load({ kind: "path", path }, { roots: [path], cwd: path });
    await keepContext(store, context);
    keys.push(context.key);
  }
  return { store, keys };
}

test("documents are known by their texts, and prompts by the documents that changed", async () => {
  const edited = LONG.map((line, at) => (at === 20 ? "this is another line, which is new here\n" : line)).join("");
  const same = { "same.md": LONG.join("").toUpperCase() };
  const { store, keys } = await contexts(
    {
      ...same,
      "long.md": edited,
      "short.md": "twelve mice",
      "moved/to.md": "I only moved",
      "added.md": "I came later",
    },
    { ...same, "long.md": LONG.join(""), "short.md": "eleven mice", "at.md": "I only moved", "left.md": "I went away" },
  );
  const prompts = [
    edited.slice(900, 1400),
    `Who? twelve mice!`,
    "Is this new? I came later",
    // This part of the page did not change: its text says only that the page may be the reason.
    edited.slice(100, 400),
    "nothing of P",
  ];
  const now = madeOf("new", { cell: prompts.map((prompt) => ({ prompt })) });
  const before = madeOf("old", { cell: [] });
  const [newer = null, older = null] = keys;
  const told = await compareSessions(store, { session: now, key: newer }, { session: before, key: older }, ALL);
  expect(told.documents).toEqual({
    ...{ total: 5, equal: 2, changed: 2, new: 1, gone: 1 },
    listed: { changed: ["long.md", "short.md"], new: ["added.md"], gone: ["left.md"] },
  });
  expect(told.told).toMatch(/^2 of 5 documents changed, 1 new, 1 gone; 5 calls asked for the first time/);
  expect(told.calls.map(({ why, documents }) => [why, ...documents])).toEqual([
    ...[
      ["document changed", "long.md"],
      ["document changed", "short.md"],
      ["document changed", "added.md"],
    ],
    // Calls above are new, and so are their answers.
    ...[["answer above changed"], ["answer above changed"]],
  ]);
  const alone = madeOf("new", { cell: prompts.slice(3, 4).map((prompt) => ({ prompt })) });
  const likely = await compareSessions(store, { session: alone, key: newer }, { session: before, key: older }, ALL);
  expect(likely.calls[0]).toMatchObject({ why: "document changed", documents: ["long.md"] });
  const itself = await compareSessions(store, { session: now, key: newer }, { session: before, key: newer }, ALL);
  expect(itself.documents).toMatchObject({ total: 5, equal: 5, changed: 0 });
  const lost = await compareSessions(
    store,
    { session: now, key: newer },
    { session: before, key: "0".repeat(64) },
    ALL,
  );
  expect(lost.documents).toBeNull();
});

test("two asks: turns are known by what they added, their cells by their code, and the answers are compared", async () => {
  const cell = 'answer("it is " + await llm_query("Which?", { tools: [] }))';
  const answers = ["one", "two"];
  const script = (request: ModelRequest) => {
    if (promptOf(request) === "Which?") return answers.shift() ?? "";
    return request.messages.length > 2 ? "done" : using("rlm_exec", { code: cell });
  };
  const first = await openScripted(script);
  const { store, model } = first;
  const models = { fallback: "test/scripted", resolve: () => model, price: () => model.price };
  const second = await openSessionWith({}, { store, models, random: () => 0 });
  for (const session of [first.session, second]) {
    await session.load({ text: "some words", name: "words" });
    expect(await session.ask("Which is it?")).toMatchObject({ success: true });
    await session.close();
  }
  const both = [await describeWhole(store, second.id), await describeWhole(store, first.session.id)] as const;
  const { calls, counts, answer, result, told } = await compareSessions(store, ...both, ALL);
  expect(counts).toEqual({ same: 0, again: 2, new: 0, gone: 0, replaced: 0 });
  expect(calls.map(({ why, words }) => [why, words])).toEqual([
    ["has tools", expect.stringContaining("Which is it?")],
    ["not in the cache", "Which?"],
  ]);
  expect([answer?.hunks, result]).toEqual([expect.stringContaining("-it is one"), null]);
  expect(told).toBe("0 of 1 document changed; 2 calls asked again ($0.0020); the answer changed in 1 line");
});

test("documents that overlap are read once at most: they are not compared", async () => {
  const { store, keys } = await contexts({ "a.md": "one", "b.md": "two" }, { "a.md": "one", "b.md": "three" });
  const [newer = null, older = null] = keys;
  const hostile = {
    contextIndex: store.contextIndex,
    texts: store.texts,
    async context(key: string) {
      const stored = await store.context(key);
      const { documents, ...index } = JSON.parse(JSON.stringify(stored.index));
      const wide = documents.map((document: object) => ({ ...document, start: 0 }));
      return { ...stored, index: { ...index, documents: wide } };
    },
  };
  const [now, before] = [madeOf("new", {}), madeOf("old", {})];
  const both = [
    { session: now, key: newer },
    { session: before, key: older },
  ] as const;
  expect((await compareSessions(store, ...both, ALL)).documents).toMatchObject({ changed: 1 });
  expect((await compareSessions(hostile, ...both, ALL)).documents).toBeNull();
});

test("many documents are compared, unless too many are changed or new, which the sentence says", async () => {
  const { store, keys } = await contexts({ "a.md": "one" }, { "a.md": "two" });
  const [newer = null, older = null] = keys;
  const many = Array.from({ length: 100_001 }, (_, n) => ({ id: `${n}`, path: "-", start: 0, end: 0, size: 0 }));
  const crowded = {
    contextIndex: store.contextIndex,
    texts: store.texts,
    async context(key: string) {
      const stored = await store.context(key);
      return key === newer ? { ...stored, index: { ...Object(stored.index), documents: many } } : stored;
    },
  };
  const [first, second] = [
    { session: madeOf("new", {}), key: newer },
    { session: madeOf("old", {}), key: older },
  ] as const;
  const compared = await compareSessions(crowded, first, second, ALL);
  const why = "100,001 changed or new documents (limit 100,000)";
  expect(compared).toMatchObject({ documents: null, documents_not_compared: why });
  expect(compared.told).toBe(`documents were not compared: ${why}`);
  const back = await compareSessions(crowded, second, first, { ...ALL, listed: 2 });
  expect(back.documents).toEqual({
    ...{ total: 1, equal: 0, changed: 0, new: 1, gone: 100_001 },
    listed: { changed: [], new: ["a.md"], gone: ["0", "1"] },
  });
});

test("an insertion that is a part of a character is found, and what was taken out too", async () => {
  const euro = (words: string) => `${"€ä".repeat(200)}${words}${"ä€".repeat(200)}`;
  const { store, keys } = await contexts(
    { "a.md": euro("↔"), "b.md": euro("") },
    { "a.md": euro("↕"), "b.md": euro("this was here, and it was taken out") },
  );
  const now = madeOf("new", {
    cell: [{ prompt: `What? ${euro("↔").slice(300, 500)}` }, { prompt: euro("").slice(250, 550) }],
  });
  const [newer = null, older = null] = keys;
  const whole = { session: madeOf("old", { cell: [] }), key: older };
  const { calls } = await compareSessions(store, { session: now, key: newer }, whole, ALL);
  expect(calls.map(({ documents }) => documents)).toEqual([["a.md"], ["b.md"]]);
});

test("ends are compared line by line, without what is to be left out, and not if they are too different", async () => {
  const ended = (id: string, result: Json) => {
    const journal = openJournal(0);
    journal.start(id, "cell", "result");
    journal.end(id, "cell", { end: { kind: "ok", result: JSON.stringify(result), meta: null } });
    return { session: sessionOf(describeExecs(journal.records), { id }), key: null };
  };
  const clean = (text: string) => text.replaceAll("secret", "***");
  const end = async (now: Json, before: Json) =>
    (await compareSessions(NO_STORE, ended("new", now), ended("old", before), { ...ALL, clean })).result;
  expect(await end("a\nb\nc", "a\nsecret\nc")).toEqual({
    ...{ is: "changed", lines: 1 },
    hunks: "@@ -1,3 +1,3 @@\n a\n-***\n+b\n c",
  });
  expect(await end({ n: [1, 2] }, { n: [1, 3] })).toMatchObject({ is: "changed", lines: 1 });
  expect(await end("x", "x")).toEqual({ is: "same", lines: null, hunks: null });
  const lines = (word: string) => Array.from({ length: 900 }, (_, at) => `${word} ${at}`).join("\n");
  expect(await end(lines("a"), lines("b"))).toEqual({ is: "changed", lines: null, hunks: null });
  expect(await end("x".repeat(300_000), "y")).toEqual({ is: "changed", lines: null, hunks: null });
  const empty = { session: sessionOf([], { id: "none" }), key: null };
  expect((await compareSessions(NO_STORE, ended("new", 1), empty, ALL)).result).toMatchObject({ is: "new" });
  expect((await compareSessions(NO_STORE, empty, ended("old", 1), ALL)).told).toBe(
    "only the other session has the result",
  );
  expect((await compareSessions(NO_STORE, empty, empty, ALL)).told).toMatch(/^neither session has calls/);
});
