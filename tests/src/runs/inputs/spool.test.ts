import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { hashLines } from "../../../../src/cli/batch/input-notes.ts";
import type { Json } from "../../../../src/index.ts";
import { canonicalJson } from "../../../../src/platform/cell-json.ts";
import { openIds, spool } from "../../../../src/runs/inputs/spool.ts";
import { runName } from "../../../../src/runs/spec.ts";
import { nextName } from "../../../../src/session/session-name.ts";
import { collected } from "../../../support/collected.ts";

function idsOf(values: readonly Json[], named: string | null = null, usual: "id" | "path" = "id"): string[] {
  const idOf = openIds(named, usual);
  return values.map((value, index) => idOf({ at: `line ${index + 1}`, value }));
}

const hash = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 16);

test("an id is the input's id, or a hash of its canonical JSON, with a number for equal inputs", () => {
  const equal = hash('{"a":[1,2],"b":null}');
  expect(
    idsOf([
      { id: "x" },
      { id: 7 },
      { b: null, a: [1, 2] },
      { a: [1, 2], b: null },
      "text",
      { b: null, a: [1, 2] },
      { id: null },
    ]),
  ).toEqual(["x", "7", equal, `${equal}-2`, hash('"text"'), `${equal}-3`, hash('{"id":null}')]);
});

test("inputs with fields that are named by a hash are counted, with a field that may name them", () => {
  const idOf = openIds(null, "id");
  for (const [at, value] of [{ id: "x" }, "text", { customer: "a", n: 1 }, { customer: "b" }].entries()) {
    idOf({ at: `line ${at}`, value });
  }
  expect(idOf.hashed()).toEqual({ count: 2, field: "customer" });
  expect(openIds("n", "id").hashed()).toEqual({ count: 0, field: null });
  expect(hashLines({ hashed: idOf.hashed() })).toEqual([
    '2 jobs have no "id", so a hash names each; --id FIELD takes another field, such as --id customer if it differs in each',
  ]);
  expect(hashLines({ hashed: { count: 0, field: null } })).toEqual([]);
});

test("a made id steps aside for a given one", () => {
  const text = hash('"text"');
  expect(idsOf([{ id: text }, "text", { id: `${text}-3` }, "text"])).toEqual([
    text,
    `${text}-2`,
    `${text}-3`,
    `${text}-4`,
  ]);
});

test("--id names the field, which each input must have", () => {
  expect(idsOf([{ id: 1, isbn: "a" }], "isbn")).toEqual(["a"]);
  expect(() => idsOf([{ isbn: "a" }, { id: 1 }], "isbn")).toThrow(
    expect.objectContaining({ at: "line 2", message: 'has no field "isbn", which --id names' }),
  );
  expect(() => idsOf(["text"], "length")).toThrow("has no field");
});

test("rows of a table without an id are numbered, and --id none numbers all jobs", () => {
  const row = (n: number, value: Json) => ({ at: `line ${n + 1}`, row: n, value });
  const rows = [row(1, { text: "a" }), row(2, { text: "a" })];
  expect(rows.map(openIds(null, "id"))).toEqual(["1", "2"]);
  const repeated = [row(1, { id: "7" }), row(2, { id: "7" })];
  expect(() => repeated.map(openIds(null, "id"))).toThrow('has the id "7", and so has line 2');
  expect(repeated.map(openIds("none", "id"))).toEqual(["1", "2"]);
  expect(idsOf([{ id: 7 }, "x", { id: "" }], "none")).toEqual(["1", "2", "3"]);
});

test.each(["", "a\nb", "a\u0000", "\ud800", "x".repeat(201), true, [1], { a: 1 }])("%j cannot be an id", (id) => {
  expect(() => idsOf([{ id }])).toThrow('has "id" that cannot be an id');
});

test("an id that is given twice names both lines", () => {
  expect(() => idsOf([{ id: "x" }, { id: "y" }, { id: "x" }])).toThrow(
    expect.objectContaining({ at: "line 3", message: 'has the id "x", and so has line 1' }),
  );
  expect(() => idsOf([{ id: 7 }, { id: "7" }])).toThrow("has the id");
});

test("a file is known by its path, unless that is too long", () => {
  const path = `${"x".repeat(250)}.txt`;
  expect(idsOf([{ path: "in/a.txt" }, { path }], null, "path")).toEqual(["in/a.txt", hash(JSON.stringify({ path }))]);
});

test("canonical JSON is the same for equal values, and different for others", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      const [one, other] = [JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b))];
      expect(JSON.parse(canonicalJson(one) ?? "")).toEqual(one);
      let isEqual = true;
      try {
        expect(one).toStrictEqual(other);
      } catch {
        isEqual = false;
      }
      expect(canonicalJson(one) === canonicalJson(other)).toBe(isEqual);
    }),
  );
});

test("a run is called by its script and what it does", async () => {
  expect(runName("/jobs/reviews.js", "3f2a91c0ffff")).toBe("reviews-3f2a91c0");
  expect(runName("../my cells (2).js", "3f2a91c0ffff")).toBe("my-cells-2--3f2a91c0".replace("2--", "2--"));
  expect(runName("._.js", "3f2a91c0ffff")).toBe("run-3f2a91c0");
  expect(await nextName("a", async (name) => ["a-2", "a-3"].includes(name))).toBe("a-4");
});

test("jobs come back from the temporary file as they were read, and a bad one leaves nothing behind", async () => {
  const input = { id: "\u2028", text: "é".repeat(2 ** 20) };
  {
    await using spooled = await spool(
      [
        { at: "1", value: input },
        { at: "2", value: 2 },
      ],
      openIds(null, "id"),
      ({ at }) => `c${at}`,
    );
    expect(spooled.count).toBe(2);
    expect(await collected(spooled.jobs())).toEqual([
      { id: "\u2028", input: JSON.stringify(input), context: "c1" },
      { id: hash("2"), input: "2", context: "c2" },
    ]);
  }
  await expect(spool([{ at: "1", value: { id: "" } }], openIds(null, "id"), () => null)).rejects.toThrow(
    "cannot be an id",
  );
});
