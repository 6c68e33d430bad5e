import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ImagePages } from "../../../runtime/index.ts";
import { openStore } from "../../../src/store/open.ts";
import type { GcRule } from "../../../src/store/port.ts";
import { textKey } from "../../../src/store/sql/cache.ts";
import { findingsIn } from "../../../src/store/whole-reads.ts";
import { listed } from "../../support/listed.ts";
import { folderWith } from "../../support/tree.ts";
import {
  changed,
  checkpointOf,
  contextOf,
  extrasOf,
  META,
  memoryOf,
  pagesOf,
  plain,
  range,
  recordOf,
  sessionOf,
} from "./sample.ts";
import { STORES, testOf } from "./stores.ts";

const NEVER: GcRule = { now: 1000, anonymousMs: 1e9, namedMs: null, pi: false, dryRun: false };

describe.each(STORES)("the store $kind", (kind) => {
  const stored = testOf(kind);

  stored("a session is found by name, id and the end of its id", async (store) => {
    const made = await store.create(sessionOf("01AAA", { name: "first" }));
    await store.create(sessionOf("01ABB", { at: 2 }));
    expect(made).toMatchObject({ id: "01AAA", name: "first", head: null, last_seq: 0, busy: true, facts: null });
    expect(made.settings).toEqual({ model: "local/scripted" });
    expect(made.holder?.pid).toBe(process.pid);
    const { fence: _fence, lost: _lost, ...row } = made;
    expect(await store.find("first")).toEqual(row);
    expect((await store.find("01ABB"))?.id).toBe("01ABB");
    await store.create(sessionOf("01ACCC6AGZBZ7T"));
    await store.create(sessionOf("01ADDD6AGZBZ7T"));
    expect((await store.find("ccc6agzbz7t"))?.id).toBe("01ACCC6AGZBZ7T");
    for (const none of ["6AGZBZ7T", "ABZ7T", "01ACCC6"]) expect(await store.find(none)).toBeNull();
    expect(await store.find("")).toBeNull();
    expect(await store.find("%")).toBeNull();
    expect((await listed(store)).map(({ id }) => id)).toEqual(["01ABB", "01ADDD6AGZBZ7T", "01ACCC6AGZBZ7T", "01AAA"]);
  });

  stored("names and ids are taken once, and ids are no paths", async (store) => {
    await store.create(sessionOf("S1", { name: "one" }));
    await expect(store.create(sessionOf("S2", { name: "one" }))).rejects.toMatchObject({ code: "session_exists" });
    await expect(store.create(sessionOf("S1"))).rejects.toMatchObject({ code: "session_exists" });
    await expect(store.create(sessionOf("S3", { name: "S1" }))).rejects.toMatchObject({ code: "session_exists" });
    await expect(store.create(sessionOf("../S4"))).rejects.toMatchObject({ code: "invalid_argument" });
    expect(await listed(store)).toHaveLength(1);
  });

  stored("children are listed, counted and dropped with their parent, at any depth", async (store) => {
    const childOf = (parent: string, id: string, call: string) =>
      store.create(sessionOf(id, { name: `${parent}.${call}`, origin: "child", at: 0 }));
    await store.create(sessionOf("S1", { name: "main" }));
    await store.create(sessionOf("S12"));
    await childOf("S1", "C1", "E1.1");
    await childOf("C1", "G1", "E1.2");
    const other = await childOf("S12", "C2", "E1.1");
    // A session that a person gave such a name is their own.
    await store.create(sessionOf("S3", { name: "S1.mine" }));
    expect(other).toMatchObject({ origin: "child", name: "S12.E1.1" });
    expect((await listed(store)).map(({ id }) => id)).toEqual(["S3", "S12", "S1"]);
    const [first] = await store.list({ after: null, limit: 1 });
    expect(first?.id).toBe("S3");
    const behind = await store.list({ after: first ?? null, limit: 5 });
    expect(behind.map(({ id }) => id)).toEqual(["S12", "S1"]);
    expect(await store.list({ after: behind[1] ?? null, limit: 5 })).toEqual([]);
    expect((await store.find("S1.E1.1"))?.id).toBe("C1");
    const alone = (await store.find("S1"))?.bytes ?? 0;
    await store.commit("G1", { records: [recordOf("E1", 5, { text: "long" })] });
    const grown = (await store.find("S1"))?.bytes ?? 0;
    expect(grown).toBeGreaterThan(alone);
    expect((await store.find("S12"))?.bytes).toBe(0);
    for (const id of ["C1", "G1", "C2", "S3", "S12"]) await store.release(id);
    await store.remove("S1");
    for (const gone of ["S1", "C1", "G1"]) expect(await store.find(gone)).toBeNull();
    // By age alone a child would go before its parent.
    const rule = { ...NEVER, now: 100, anonymousMs: 99 };
    expect((await store.gc(rule)).sessions).toEqual([]);
    expect(await store.find("C2")).not.toBeNull();
    expect((await store.gc({ ...rule, anonymousMs: 98 })).sessions).toEqual(["S12"]);
    expect(await store.find("C2")).toBeNull();
    expect((await listed(store)).map(({ id }) => id)).toEqual(["S3"]);
  });

  stored("who has no lease does not write", async (store) => {
    await store.create(sessionOf("S1"));
    await expect(store.lease("S1")).rejects.toMatchObject({ code: "session_busy" });
    await store.release("S1");
    expect((await store.find("S1"))?.busy).toBe(false);
    await expect(store.commit("S1", { facts: { execs: 1 } })).rejects.toMatchObject({ code: "store_failed" });
    expect((await store.lease("S1")).busy).toBe(true);
    await store.commit("S1", { facts: { execs: 1 } });
    await expect(store.lease("S9")).rejects.toMatchObject({ code: "session_not_found" });
  });

  stored("records come back in order, long ones too", async (store) => {
    await store.create(sessionOf("S1"));
    const long = recordOf("E1", 6, { text: "long and ".repeat(20_000) });
    await store.commit("S1", { records: [recordOf("E1", 5), long], facts: { execs: 1 }, settings: { model: "b" } });
    await store.commit("S1", { records: [recordOf("E2", 7)] });
    expect(await store.journal("S1")).toEqual([
      { seq: 1, record: recordOf("E1", 5) },
      { seq: 2, record: long },
      { seq: 3, record: recordOf("E2", 7) },
    ]);
    expect(await store.journal("S1", 3)).toEqual([{ seq: 3, record: recordOf("E2", 7) }]);
    expect(await store.journal("S1", 4)).toEqual([]);
    expect(await store.readable("S1")).toEqual({ records: await store.journal("S1"), checkpoints: [], damaged: [] });
    const row = await store.find("S1");
    expect(row).toMatchObject({ last_seq: 3, changed_at: 7, facts: { execs: 1 }, settings: { model: "b" } });
    expect(row?.bytes).toBeGreaterThan(0);
    await expect(store.journal("S9")).rejects.toMatchObject({ code: "session_not_found" });
  });

  stored("an image is what its base is, with its own changes", async (store) => {
    const fresh = pagesOf(range(0, 20), 1);
    const first = pagesOf([3, 4, 5, 40], 2);
    const second = pagesOf([4, 19, 63], 3);
    const expected = [memoryOf(fresh), memoryOf(fresh, first), memoryOf(fresh, first, second)];
    expect(await store.hasBaseline("B")).toBe(false);
    await store.putBaseline("B", META, structuredClone(fresh));
    await store.putBaseline("B", META, structuredClone(fresh));
    expect(await store.hasBaseline("B")).toBe(true);
    await store.create(sessionOf("S1"));
    await store.commit("S1", {
      checkpoint: checkpointOf("C1", { pages: first, base: "B" }),
      records: [recordOf("E1", 5)],
    });
    await store.commit("S1", {
      checkpoint: checkpointOf("C2", { pages: second, base: "C1", parent: "C1", kind: "end" }),
    });
    for (const [index, id] of ["B", "C1", "C2"].entries()) {
      const image = await store.image(id);
      expect({ id: image.id, meta: image.meta }).toEqual({ id, meta: META });
      expect(Buffer.compare(image.memory, expected[index] ?? new Uint8Array())).toBe(0);
    }
    const [c1, c2, ...others] = await store.checkpoints("S1");
    expect(others).toEqual([]);
    expect(c1).toMatchObject({ id: "C1", session: "S1", base: "B", kind: "step", seq: 1, pages: 4, parent: null });
    expect(c2).toMatchObject({ id: "C2", kind: "end", seq: 1, pages: 3, parent: "C1", meta: META });
    expect(c2?.extras).toEqual(extrasOf("C2"));
    expect(await store.checkpoint("C2")).toEqual(c2);
    expect(await store.find("S1")).toMatchObject({ head: "C2" });
    await expect(store.checkpoint("C9")).rejects.toMatchObject({ code: "checkpoint_lost" });
    await expect(store.image("C9")).rejects.toMatchObject({ code: "checkpoint_lost" });
  });

  stored("an image of more pages than a row holds", async (store) => {
    const pages = pagesOf(range(0, 2100), 1);
    const meta = { ...META, linearBytes: 2112 * 4096 };
    const expected = changed(new Uint8Array(meta.linearBytes), pages);
    expect(pages.length).toBeGreaterThan(1);
    await store.putBaseline("B", meta, pages);
    expect(Buffer.compare((await store.image("B")).memory, expected)).toBe(0);
  });

  stored("a commit that cannot be kept is not kept in part", async (store) => {
    await store.create(sessionOf("S1"));
    const pages = pagesOf([1], 1);
    const checkpoint = checkpointOf("C1", { pages, base: "B9" });
    const records = [recordOf("E1", 5)];
    await expect(store.commit("S1", { checkpoint, records })).rejects.toMatchObject({ code: "checkpoint_lost" });
    const [part] = pagesOf([1], 1);
    if (!part) throw new Error("there is no page");
    const short = [{ ...part, changes: part.changes.slice(1) }];
    const commit = (pages: ImagePages) => store.commit("S1", { records, checkpoint: checkpointOf("C1", { pages }) });
    for (const wrong of [pagesOf([2, 1], 1), pagesOf([64], 1), short]) {
      await expect(commit(wrong)).rejects.toMatchObject({ code: "store_failed" });
    }
    expect(await store.journal("S1")).toEqual([]);
    await commit(pagesOf([1], 1));
    await expect(commit(pagesOf([1], 1))).rejects.toMatchObject({ code: "store_failed" });
    expect(await store.journal("S1")).toHaveLength(1);
  });

  stored(
    "a commit answers what its session takes more, and is refused without a trace if there is no space",
    async (store) => {
      await store.create(sessionOf("S1"));
      const context = contextOf("a text of its own");
      await store.putContext(context);
      const bytes = async () => (await store.find("S1"))?.bytes ?? 0;
      const one = { checkpoint: checkpointOf("C1", { pages: pagesOf([1, 2], 1) }), records: [recordOf("E1", 2)] };
      const first = await store.commit("S1", one);
      expect(first).toBe(await bytes());
      const two = () => ({ checkpoint: checkpointOf("C2", { pages: pagesOf([3], 2) }), records: [recordOf("E1", 3)] });
      const space = { label: "mine", taken: 5 * 2 ** 20, most: 5 * 2 ** 20 + 100 };
      await expect(store.commit("S1", { ...two(), space })).rejects.toMatchObject({
        code: "store_full",
        message: "session mine would take 5.0 MB of the store, and may take 5.0 MB",
      });
      expect([await bytes(), (await store.journal("S1")).length]).toEqual([first, 1]);
      const swap = { ...two(), drop: ["C1"], space };
      expect(await store.commit("S1", swap)).toBe((await bytes()) - first);
      const before = await bytes();
      await store.commit("S1", { records: [recordOf("E1", 4, { context_key: context.key })] });
      expect((await bytes()) - before).toBeGreaterThan("a text of its own".length);
    },
  );

  stored("dropped steps go unless another checkpoint is based on them", async (store) => {
    await store.create(sessionOf("S1"));
    await store.commit("S1", { checkpoint: checkpointOf("C1", { pages: pagesOf([1], 1) }) });
    await store.commit("S1", { checkpoint: checkpointOf("C2", { pages: pagesOf([2], 2), base: "C1" }) });
    await store.commit("S1", { checkpoint: checkpointOf("C3", { pages: pagesOf([3], 3) }) });
    const end = checkpointOf("C4", { pages: pagesOf([4], 4), base: "C2", kind: "end" });
    await store.commit("S1", { checkpoint: end, drop: ["C1", "C2", "C3", "C9"] });
    expect((await store.checkpoints("S1")).map(({ id }) => id)).toEqual(["C4"]);
    const memory = memoryOf(pagesOf([1], 1), pagesOf([2], 2), pagesOf([4], 4));
    expect(Buffer.compare((await store.image("C4")).memory, memory)).toBe(0);
    await expect(store.checkpoint("C3")).rejects.toMatchObject({ code: "checkpoint_lost" });
    const whole = checkpointOf("C5", { pages: pagesOf([5], 5), kind: "end" });
    await store.commit("S1", { checkpoint: whole, drop: ["C4"] });
    await expect(store.checkpoint("C1")).rejects.toMatchObject({ code: "checkpoint_lost" });
    await expect(store.commit("S1", { drop: ["C5"] })).rejects.toMatchObject({ code: "store_failed" });
  });

  stored("old ends are joined with the one that stays, and all images stay as they are", async (store) => {
    await store.create(sessionOf("S1"));
    await store.putBaseline("E0", META, pagesOf(range(0, 20), 1));
    let memory = memoryOf(pagesOf(range(0, 20), 1));
    const expected = new Map<string, Uint8Array>();
    for (const n of range(1, 13)) {
      // The seventh is a whole one.
      const base = n === 7 ? null : `E${n - 1}`;
      const changes = () => pagesOf([n, 30, 63 - n], n);
      memory = base === null ? memoryOf(changes()) : changed(memory.slice(), changes());
      expected.set(`E${n}`, memory);
      const checkpoint = checkpointOf(`E${n}`, { pages: changes(), base, kind: "end", at: n });
      await store.commit("S1", { checkpoint, records: [recordOf("E1", n)] });
      if (n === 3) await store.fork("S1", "E3", sessionOf("F1"));
    }
    const bytes = async () => (await store.find("S1"))?.bytes ?? 0;
    const before = await bytes();
    const old = range(1, 13).map((n) => `E${n}`);
    const more = await store.thin(
      "S1",
      old.filter((id) => !["E6", "E10"].includes(id)),
    );
    expect([more < 0, (await bytes()) - before]).toEqual([true, more]);
    const left = await store.checkpoints("S1");
    // The head stays, and so do the whole one and the one that the fork began at.
    expect(left.map(({ id, base }) => [id, base])).toEqual([
      ["E3", "E2"],
      ["E6", "E3"],
      ["E7", null],
      ["E10", "E7"],
      ["E12", "E10"],
    ]);
    for (const { id } of left)
      expect(Buffer.compare((await store.image(id)).memory, expected.get(id) ?? Buffer.of())).toBe(0);
    expect(await store.thin("S1", old.slice(0, 2))).toBe(0);
    await expect(store.checkpoint("E8")).rejects.toMatchObject({ code: "checkpoint_lost" });
    await store.commit("S1", { checkpoint: checkpointOf("E13", { pages: pagesOf([5], 9), base: "E12", kind: "end" }) });
    // What only the fork held goes with it.
    await store.lease("F1");
    await store.remove("F1");
    expect((await store.checkpoints("S1")).map(({ id }) => id)).toEqual(["E3", "E6", "E7", "E10", "E12", "E13"]);
    expect(Buffer.compare((await store.image("E6")).memory, expected.get("E6") ?? Buffer.of())).toBe(0);
  });

  stored("contexts share their parts", async (store) => {
    const one = contextOf("Grüße, ");
    const two = contextOf("Grüße, ", "Welt", "");
    expect(await store.hasContext(one.key)).toBe(false);
    await store.putContext(one);
    await store.putContext(two);
    await store.putContext(two);
    expect(await store.hasContext(two.key)).toBe(true);
    expect(plain(await store.context(one.key))).toEqual(plain(one));
    expect(plain(await store.context(two.key))).toEqual(plain(two));
    expect(await store.contextIndex(two.key)).toEqual(two.index);
    for (const lost of [store.context("0".repeat(64)), store.contextIndex("0".repeat(64))]) {
      await expect(lost).rejects.toMatchObject({ code: "context_lost" });
    }
    const [part] = contextOf("x").parts;
    const wrong = {
      ...one,
      key: "1".repeat(64),
      parts: [{ hash: "2".repeat(64), bytes: part?.bytes ?? new Uint8Array() }],
    };
    await expect(store.putContext(wrong)).rejects.toMatchObject({ code: "store_failed" });
    expect(await store.hasContext(wrong.key)).toBe(false);
  });

  stored("answers are cached with their commit", async (store) => {
    await store.create(sessionOf("S1"));
    expect(await store.cached("k")).toBeNull();
    await store.commit("S1", { cache: [{ key: "k", value: { text: "a" }, at: 5 }] });
    await store.commit("S1", { cache: [{ key: "k", value: { text: "b" }, at: 6 }] });
    expect(await store.cached("k")).toEqual({ text: "b" });
  });

  stored("a text is kept by its hash, without a session, and is there a second time at no cost", async (store) => {
    const hash = "a".repeat(64);
    const text = "\ufeffone\r\n\u2028";
    expect(await store.cached(textKey(hash))).toBeNull();
    await store.keepText(hash, text, 5);
    await store.keepText(hash, text, 6);
    expect(await store.cached(textKey(hash))).toBe(text);
  });

  stored("gc drops texts after 30 days, whatever else it drops", async (store) => {
    const days = 24 * 60 * 60 * 1000;
    const [old, young] = ["a".repeat(64), "b".repeat(64)];
    await store.create(sessionOf("S1"));
    await store.commit("S1", { cache: [{ key: "k", value: 1, at: 5 }] });
    await store.keepText(old, "old", 5);
    await store.keepText(young, "young", 5);
    await store.keepText(young, "young", 2 * days);
    const rule = { ...NEVER, now: 31 * days };
    expect(await store.gc({ ...rule, dryRun: true })).toMatchObject({ cached: 1 });
    expect(await store.cached(textKey(old))).toBe("old");
    expect(await store.gc(rule)).toMatchObject({ cached: 1 });
    expect(await store.cached(textKey(old))).toBeNull();
    expect([await store.cached(textKey(young)), await store.cached("k")]).toEqual(["young", 1]);
    await store.release("S1");
  });

  stored("a fork stands where its checkpoint stood, and the parent is untouched", async (store) => {
    await store.create(sessionOf("S1"));
    await store.commit("S1", {
      checkpoint: checkpointOf("C1", { pages: pagesOf([1], 1), kind: "end" }),
      records: [recordOf("E1", 5)],
      facts: { execs: 1 },
    });
    await store.commit("S1", {
      checkpoint: checkpointOf("C2", { pages: pagesOf([2], 2), base: "C1", exec_id: "E2" }),
      records: [recordOf("E2", 6)],
    });
    await store.commit("S1", {
      checkpoint: checkpointOf("C3", { pages: pagesOf([3], 3), base: "C2", kind: "end", exec_id: "E2" }),
      records: [recordOf("E2", 7)],
    });
    const parent = await store.find("S1");

    const fork = await store.fork("S1", "C2", sessionOf("S2", { name: "fork", at: 9 }));
    expect(fork).toMatchObject({
      id: "S2",
      head: "C1",
      last_seq: 2,
      forked_from: "C2",
      facts: { execs: 1 },
      busy: false,
    });
    expect((await store.checkpoints("S2")).map(({ id }) => id)).toEqual(["C1", "C2"]);
    expect(await store.journal("S2")).toEqual((await store.journal("S1")).slice(0, 2));
    expect(await store.fork("S1", null, sessionOf("S3"))).toMatchObject({ head: "C3", last_seq: 3 });

    await store.lease("S2");
    await store.commit("S2", {
      checkpoint: checkpointOf("D1", { pages: pagesOf([9], 9), base: "C2", kind: "end", exec_id: "E3" }),
      drop: ["C2"],
      records: [recordOf("E3", 8)],
    });
    expect(await store.find("S1")).toEqual(parent);
    expect((await store.checkpoints("S1")).map(({ id }) => id)).toEqual(["C1", "C2", "C3"]);

    await store.remove("S1");
    const memory = memoryOf(pagesOf([1], 1), pagesOf([2], 2), pagesOf([9], 9));
    expect(Buffer.compare((await store.image("D1")).memory, memory)).toBe(0);
    expect(await store.journal("S2")).toHaveLength(3);

    await expect(store.fork("S2", "C3", sessionOf("S4"))).rejects.toMatchObject({ code: "checkpoint_not_found" });
    await expect(store.fork("S2", null, sessionOf("S3"))).rejects.toMatchObject({ code: "session_exists" });
    await store.create(sessionOf("S5"));
    await expect(store.fork("S5", null, sessionOf("S6"))).rejects.toMatchObject({ code: "checkpoint_not_found" });
  });

  stored("gc drops old sessions and what only they reached", async (store) => {
    const old = contextOf("old");
    const kept = contextOf("kept");
    await store.putContext(old);
    await store.putContext(kept);
    await store.putBaseline("B1", META, pagesOf([0], 1));
    await store.putBaseline("B2", META, pagesOf([0], 2));
    const end = (id: string, hash: string) => ({
      checkpoint: checkpointOf(id, {
        pages: pagesOf([1], 1),
        kind: "end" as const,
        base: "B2",
        extras: { context_hash: hash },
      }),
      records: [recordOf("E1", 5)],
    });
    await store.create(sessionOf("S1"));
    await store.commit("S1", { ...end("C1", old.key), cache: [{ key: "k", value: 1, at: 5 }] });
    await store.create(sessionOf("S2", { name: "named" }));
    await store.commit("S2", end("C2", kept.key));
    await store.create(sessionOf("S3", { origin: "pi" }));
    await store.create(sessionOf("S4"));
    await store.commit("S4", { facts: { status: "running" }, records: [recordOf("E1", 5)] });
    const rule = { ...NEVER, anonymousMs: 100 };
    expect(await store.gc(rule)).toMatchObject({ sessions: [], checkpoints: 0, contexts: 0 });
    for (const id of ["S1", "S2", "S3", "S4"]) await store.release(id);
    expect(await store.gc({ ...rule, dryRun: true })).toMatchObject({
      sessions: ["S1"],
      checkpoints: 1,
      contexts: 1,
      cached: 0,
    });
    expect((await listed(store)).map(({ id }) => id).toSorted()).toEqual(["S1", "S2", "S3", "S4"]);
    expect(await store.gc(rule)).toMatchObject({ sessions: ["S1"], checkpoints: 1, contexts: 1, cached: 0 });
    expect(await store.hasContext(old.key)).toBe(false);
    expect(plain(await store.context(kept.key))).toEqual(plain(kept));
    expect([await store.hasBaseline("B1"), await store.hasBaseline("B2")]).toEqual([false, true]);
    expect(await store.gc({ ...rule, namedMs: 100 })).toMatchObject({ sessions: ["named"], contexts: 1, cached: 1 });
    expect(await store.gc({ ...rule, namedMs: 100, pi: true })).toMatchObject({ sessions: ["S3"] });
    expect((await listed(store)).map(({ id }) => id)).toEqual(["S4"]);
    expect(await store.hasBaseline("B2")).toBe(true);
    await store.remove("S4");
  });

  test("an interrupted session is told of, as no error", async ({ skip }) => {
    skip(kind.skipped !== null, kind.skipped ?? "");
    await using store = await kind.open();
    await store.create(sessionOf("S1", { name: "mine" }));
    await store.commit("S1", { facts: { status: "running" } });
    expect(await findingsIn(store)).toEqual([]);
    await store.release("S1");
    expect(await findingsIn(store)).toEqual([
      expect.stringMatching(/^info: session mine is interrupted, its holder pid \d+ /),
    ]);
  });

  test("a closed store says so", async ({ skip }) => {
    skip(kind.skipped !== null, kind.skipped ?? "");
    const store = await kind.open();
    await store[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    await expect(listed(store)).rejects.toMatchObject({ code: "store_failed" });
  });
});

test("what is dropped leaves the disk, and the lock files go with their sessions", async () => {
  const folder = join(folderWith(), "store");
  await using store = await openStore(folder);
  const noise = Array.from({ length: 60_000 }, (_, index) => ((index * 2654435761) % 4294967296).toString(36)).join("");
  await store.create(sessionOf("S1"));
  await store.commit("S1", { records: [recordOf("E1", 5, { noise })] });
  await store.release("S1");
  const dry = await store.gc({ ...NEVER, anonymousMs: 1, dryRun: true });
  const done = await store.gc({ ...NEVER, anonymousMs: 1 });
  expect(dry.sessions).toEqual(["S1"]);
  expect(done.bytes).toBeGreaterThan(noise.length / 4);
  expect(dry.bytes).toBeGreaterThan(noise.length / 4);
  await store.create(sessionOf("S2"));
  expect(readdirSync(join(folder, "locks")).toSorted()).toEqual([".store.db", "S2.db"]);
  await store.release("S2");
  expect(readdirSync(join(folder, "locks"))).toEqual([".store.db"]);
  await store.lease("S2");
  await store.remove("S2");
  expect(readdirSync(join(folder, "locks"))).toEqual([".store.db"]);
});
