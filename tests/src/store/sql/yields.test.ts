import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const STORE = new URL("../../../../src/store/", import.meta.url);
const filesIn = (folder: string) =>
  readdirSync(new URL(folder, STORE), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => ({ name: folder + name, source: readFileSync(new URL(folder + name, STORE), "utf8") }));

const SHARED = filesIn("sql/");
const plansIn = (source: string) => [...source.matchAll(/function\* (\w+)/g)].map(([, name]) => name);
const PLANS = new Set(SHARED.flatMap(({ source }) => plansIn(source)));

/** Calls of plans that nothing performs. They compile, and do nothing. */
function forgotten(source: string, plans: ReadonlySet<string | undefined>): string[] {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "").replaceAll(/\s+/g, " ");
  return [...code.matchAll(/\w+(?=\()/g)]
    .filter(
      ({ 0: name, index }) =>
        plans.has(name) &&
        !/(yield\* |function\* |async |perform\( ?|(?:looks|reads|changes)\(\([^)]*\) => |\.)$/.test(
          code.slice(0, index),
        ),
    )
    .map(({ index }) => code.slice(Math.max(0, index - 20), index + 40));
}

test.for(SHARED)("$name: each call of a plan is behind yield*", ({ source }) => {
  expect(forgotten(source, PLANS)).toEqual([]);
});

test.for([...filesIn("sqlite/"), ...filesIn("postgres/")])("$name: each plan is performed", ({ source }) => {
  const imports = source.matchAll(/import \{([^}]*)\} from "(?:\.\.\/)+sql\/[\w-]+\.ts"/g);
  const imported = [...imports].flatMap(([, names = ""]) => names.split(",").map((name) => name.trim().split(" as ")));
  const shared = imported.flatMap(([name, alias = name]) => (PLANS.has(name) ? alias : []));
  expect(forgotten(source, new Set([...shared, ...plansIn(source)]))).toEqual([]);
});

test("a forgotten yield* is found", () => {
  const plans = new Set(["run", "addUses"]);
  expect(forgotten("  yield* run(sql`A`);\n  run(sql`B`);\n  if (x) addUses(id, named);", plans)).toHaveLength(2);
  expect(forgotten("  database.perform(addUses(id, named));\n  // run(x) is said only", plans)).toEqual([]);
});

test("no statement of SQLite numbers its values: the oldest Node does not take them", () => {
  const numbered = [...SHARED, ...filesIn("sqlite/")].filter(({ source }) => /[ (]\?\d/.test(source));
  expect(numbered.map(({ name }) => name)).toEqual([]);
});
