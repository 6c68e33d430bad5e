import vm from "node:vm";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSession, type Session } from "../../../src/index.ts";
import { type Program, programs } from "../../support/programs.ts";

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session.close());

/** A cell's value as JSON, or the name of what it threw. */
async function inBelay(source: string): Promise<string> {
  const done = await session.exec(source);
  return done.success ? JSON.stringify(done.result_json) : done.error_name;
}

function inNode(source: string, context: vm.Context): string {
  try {
    return JSON.stringify(vm.runInContext(source, context) ?? null) ?? "null";
  } catch (error) {
    return typeof error === "object" && error !== null && "name" in error ? String(error.name) : "Uncaught";
  }
}

let runs = 0;
const fresh = () => `v${++runs}_`;

/** Statements in a row. Some end with a line break alone, if that ends them. */
function joined(statements: readonly string[], breaks: fc.Stream<string>): string {
  return statements.reduce((text, next, index) => {
    const between = breaks.next().value;
    const runsOn = /^[([`]/.test(next) && !/^let v\d+( = .*)?, v\d+$/s.test(statements[index - 1] ?? "");
    return `${text}${runsOn ? ";\n" : between}${next}`;
  });
}

test("a cell gives what Node's own evaluation of the same text gives", async () => {
  const breaks = fc.infiniteStream(fc.constantFrom(";\n", "\n", "; ", " // why\n", ";\n\n"));
  await fc.assert(
    fc.asyncProperty(programs("v"), breaks, async (program, between) => {
      // Names of its own for each run: a `var` without a value keeps what an earlier cell left.
      const prefix = fresh();
      const text = joined([...program.statements.map(({ declared }) => declared), program.shown], between);
      const source = text.replace(/\bv(\d+)\b/g, `${prefix}$1`);
      expect(await inBelay(source), source).toBe(inNode(source, vm.createContext({})));
    }),
    { numRuns: 150 },
  );
});

test("a later cell that declares names again gives what assignments give", async () => {
  const pairs = programs("v").chain((first) => programs("v", first.names).map((second) => [first, second] as const));
  await fc.assert(
    fc.asyncProperty(pairs, async ([first, second]) => {
      const prefix = fresh();
      const rename = (text: string) => text.replace(/\bv(\d+)\b/g, `${prefix}$1`);
      const cell = ({ statements, shown }: Program) =>
        rename([...statements.map(({ declared }) => declared), shown].join(";\n"));
      const oracle = ({ statements, shown }: Program) =>
        rename([...statements.map(({ assigned }) => assigned), shown].join(";\n"));
      const context = vm.createContext({});
      for (const program of [first, second]) {
        expect(await inBelay(cell(program)), cell(program)).toBe(inNode(oracle(program), context));
      }
    }),
    { numRuns: 150 },
  );
});
