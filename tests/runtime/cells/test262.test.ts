import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { CellSyntaxError } from "../../../runtime/cells/checks.ts";
import { transformCell } from "../../../runtime/cells/scripts.ts";
import { ROOT } from "../../../scripts/process.ts";
import { openMachineHere } from "../../support/machine-here.ts";

const here = await openMachineHere();
afterAll(() => here[Symbol.dispose]());

/** docs/limitations/language.md says of each why it is taken. */
const TAKEN = [
  "0f5f47108da5c34e.js",
  "12a74c60f52a60de.js",
  "1aff49273f3e3a98.js",
  "be7329119eaa3d47.js",
  "ec31fa5e521c5df4.js",
];

/** Whether a cell of this source comes to run. */
function isTaken(source: string): boolean {
  try {
    const cell = transformCell(source, here.reserved);
    return here.engine.compile(cell.source, "<cell 1>").ok;
  } catch (error) {
    if (error instanceof CellSyntaxError) return false;
    throw error;
  }
}

test.each([
  ["pass", 1905, true, []],
  ["pass-explicit", 1905, true, []],
  ["early", 605, false, TAKEN],
] as const)("test262-parser-tests, %s: %i scripts, taken: %s", (folder, count, expected, exceptions) => {
  const cwd = join(ROOT, "node_modules/test262-parser-tests", folder);
  const scripts = globSync("*.js", { cwd }).filter((name) => !name.endsWith(".module.js"));
  expect(scripts).toHaveLength(count);
  const others = scripts.filter((name) => isTaken(readFileSync(join(cwd, name), "utf8")) !== expected);
  expect(others.toSorted()).toEqual(exceptions);
});

test("language.md names what is taken against the standard", () => {
  const page = readFileSync(join(ROOT, "docs/limitations/language.md"), "utf8");
  for (const name of TAKEN) expect(page).toContain(name.replace(".js", ""));
});
