import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { openSession, type Session } from "../src/index.ts";
import { goldenFiles, mismatches, parseGolden, readGolden } from "./support/golden.ts";
import { openPool } from "./support/pool.ts";

const folder = new URL("./cells/", import.meta.url);
const sessions = await Promise.all([1, 2].map(() => openSession({ cwd: fileURLToPath(new URL("corpus/", folder)) })));
const pool = openPool(sessions);
afterAll(async () => {
  await Promise.all(sessions.map((session) => session.close()));
});

describe.concurrent("golden cells", () => {
  for (const name of goldenFiles(folder)) {
    test(name, async ({ expect }) => {
      const failures = await pool.use((session) => run(session, name));
      expect(failures).toEqual([]);
    });
  }
});

/** Runs a file's cells in a fresh guest. Returns each difference with the line of its cell. */
async function run(session: Session, name: string): Promise<string[]> {
  const cells = readGolden(folder, name);
  await session.load(".");
  const failures: string[] = [];
  for (const { source, line, limits, expected } of cells) {
    const envelope = await session.exec(source, { limits });
    if (expected === undefined) continue;
    failures.push(...mismatches(expected, envelope).map((text) => `${name}:${line}: ${text}`));
  }
  return failures;
}

describe("the golden format", () => {
  test("a file that expects nothing is an error", () => {
    expect(() => parseGolden("1 + 1\n//---\n2", "empty.js")).toThrow("empty.js expects nothing");
  });

  test("an expectation that does not end its cell is an error", () => {
    expect(() => parseGolden("1\n//=> {}\n2", "late.js")).toThrow("late.js:3: an expectation ends its cell");
  });

  test("cells keep their source, limits and place", () => {
    const text = '//limits {"max_find_results":2}\nfind("e")\n//=> {"success":\n//   true}\n//---\n1\n';
    expect(parseGolden(text, "two.js")).toEqual([
      { source: 'find("e")', line: 1, limits: { max_find_results: 2 }, expected: { success: true } },
      { source: "1", line: 6, limits: {}, expected: undefined },
    ]);
  });

  test("objects are compared in part, arrays whole, /…/ as a pattern", () => {
    expect(mismatches({ a: { b: 1 } }, { a: { b: 1, c: 2 }, d: 3 })).toEqual([]);
    expect(mismatches([{ b: 1 }], [{ b: 1, c: 2 }])).toEqual(["$.0.c: expected nothing, got 2"]);
    expect(mismatches({ a: "/^x/" }, { a: "xy" })).toEqual([]);
    const seen = mismatches({ a: "/^x/", b: null }, { a: "y" });
    expect(seen).toEqual(['$.a: expected "/^x/", got "y"', "$.b: expected null, got nothing"]);
  });
});
