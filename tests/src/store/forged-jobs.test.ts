import { zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { shareStore } from "../../../src/store/index.ts";
import { isWithin } from "../../../src/store/rows/pack.ts";
import { findingsIn } from "../../../src/store/whole-reads.ts";
import { EDITED } from "./edited.ts";

const NO_LIMITS = { nanodollars: null, tokens: null, sub_calls: null };
const RUN = { id: "R", name: "run", queue: "q", share: 1, spec: {}, hash: "h", limits: NO_LIMITS };

/** JSON of so many bytes that is many times as large in memory, and takes a few KB here. */
const arrays = (bytes: number) => zstdCompressSync(Buffer.from(`[${"[],".repeat(bytes / 3)}[]]`)).toString("hex");
const deep = (levels: number) => zstdCompressSync(Buffer.from("[".repeat(levels) + "]".repeat(levels))).toString("hex");
const text = (bytes: number) => zstdCompressSync(Buffer.from(JSON.stringify("a".repeat(bytes)))).toString("hex");

/** A text of 20 MB, which no row can have. */
const LONG = text(20e6);
const FORGED = [arrays(48e6), arrays(12e6), deep(100_000), LONG];

describe.each(EDITED.filter(({ skipped }) => skipped === null))("rows that were forged, $kind", (of) => {
  const literal = (hex: string) => (of.kind === "in a folder" ? `x'${hex}'` : `decode('${hex}', 'hex')`);

  test("an input or a text that unpacks to more than it can have been is refused by name, and the other jobs are read", async () => {
    const place = await of.place();
    await using store = await shareStore(place);
    const { jobs } = store;
    await jobs.open(RUN);
    await jobs.add(
      "R",
      ["a", "b"].map((id) => ({ id, session: `S${id}`, input: JSON.stringify({ id }), context: null })),
    );
    for (const forged of FORGED) {
      await of.change(place, `UPDATE STORE.jobs SET input = ${literal(forged)} WHERE id = 'a'`);
      await expect(jobs.input({ run: "R", n: 0 })).rejects.toMatchObject({
        code: "store_corrupt",
        message: "the input of a is damaged",
      });
      expect(await jobs.input({ run: "R", n: 1 })).toBe('{"id":"b"}');
      expect((await jobs.list("R", { from: 0, limit: 10 })).map(({ id }) => id)).toEqual(["a", "b"]);
    }
    await of.change(place, `UPDATE STORE.jobs SET told = ${literal(LONG)} WHERE id = 'a'`);
    await expect(jobs.list("R", { from: 0, limit: 10 })).rejects.toThrow("the told of a is damaged");
    expect(await jobs.damaged("R")).toMatchObject([{ id: "a" }]);
    expect(await jobs.list("R", { from: 0, limit: 10, without: ["a"] })).toHaveLength(1);
    await of.change(
      place,
      "UPDATE STORE.runs SET spec = '[' || replace(hex(zeroblob(1000000)), '00', '[],') || '0]'".replace(
        "hex(zeroblob(1000000))",
        of.kind === "in a folder" ? "hex(zeroblob(1000000))" : "repeat('00', 1000000)",
      ),
    );
    await expect(jobs.runs({ after: null, limit: 10 })).rejects.toMatchObject({ code: "store_corrupt" });
    expect(await jobs.damagedRuns()).toMatchObject([{ id: "R" }]);
  });

  test("an answer of an earlier run that was changed is asked for again, and named", async () => {
    const place = await of.place();
    await using store = await shareStore(place);
    const { jobs } = store;
    const files = { script: "s".repeat(64), table: null };
    const asked = "a".repeat(64);
    const ids = ["a", "b"];
    for (const id of ids) {
      await jobs.open({ ...RUN, id, name: id, files });
      await jobs.add(id, [{ id: "job", session: `S${id}`, input: "1", context: null }]);
    }
    const lease = await store.create({ id: "S", name: null, origin: "library", settings: null, at: 1 });
    const answer = { run: "a", n: 0, k: 0, asked, value: "yes", model: "p/m", tokens: 1, nanodollars: 2, at: 3 };
    await store.commit(lease.id, { answers: [answer] });
    const reused = () => jobs.reuse({ run: "b", n: 0, k: 0, asked, ownOnly: false });
    const changes = ["value = told", "model = 'p/other'", "usd = -5", "origin_n = 7", "sha256 = told"];
    for (const change of changes.map((one) => one.replace("told", literal(LONG)))) {
      await of.change(place, `UPDATE STORE.answers SET ${change}`);
      expect([change.slice(0, 20), await reused()]).toEqual([change.slice(0, 20), null]);
      expect(await findingsIn(store)).toEqual([expect.stringContaining("an answer of job 0 of run a is damaged")]);
      await of.change(place, "DELETE FROM STORE.answers");
      await store.commit(lease.id, { answers: [answer] });
    }
    await of.change(place, "UPDATE STORE.runs SET spec = 'damaged' WHERE id = 'a'");
    expect(await reused()).toMatchObject({ value: "yes", from: "a" });
  });
});

test("a JSON text is within its bounds exactly if it has no more commas, arrays and objects, and levels", () => {
  const count = (value: unknown): number => {
    if (typeof value !== "object" || value === null) return 0;
    const items = Object.values(value);
    return items.reduce((sum: number, item) => sum + count(item), 1 + Math.max(0, items.length - 1));
  };
  const depth = (value: unknown): number =>
    typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depth)) : 0;
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), (json) => {
      const value: unknown = JSON.parse(json);
      const exact = { bytes: 0, values: count(value), depth: depth(value) };
      expect(isWithin(json, exact)).toBe(true);
      if (json.length > exact.values && exact.values > 0)
        expect(isWithin(json, { ...exact, values: exact.values - 1 })).toBe(false);
      if (exact.depth > 0) expect(isWithin(json, { ...exact, depth: exact.depth - 1 })).toBe(false);
    }),
  );
});
