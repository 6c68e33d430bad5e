import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BUILD_VARIABLE } from "../../bench/built.ts";
import { ROOT, run } from "../../scripts/process.ts";
import { BUNDLED, QUICK } from "../support/command.ts";
import { freshStoreUrl, NO_POSTGRES } from "../support/postgres/server.ts";

/** Parts with tests of their own, which run them as whole. */
const TESTED: readonly string[] = ["documents"];
/** Parts that run only if they are named, and need nothing that is not here. */
const NAMED: readonly string[] = ["full-size"];

test("each part of the bench without a test of its own runs, in its smallest form", async () => {
  const [list = ""] = /^const PARTS\b.*?^\};/ms.exec(readFileSync(join(ROOT, "bench/run.ts"), "utf8")) ?? [];
  const all = [...list.matchAll(/^ {2}"?([a-z-]+)"?: bench/gm)].map(([, name = ""]) => name);
  const parts = [...all.filter((name) => !TESTED.includes(name)), ...NAMED];
  // Its processes live as shortly as those of other tests, whose bundle it takes. NODE_OPTIONS may not have the first argument.
  const quick = { [BUILD_VARIABLE]: BUNDLED, NODE_OPTIONS: QUICK.slice(1).join(" ") };
  const env = { ...process.env, ...quick, ...(NO_POSTGRES ? {} : { BELAY_TEST_POSTGRES: await freshStoreUrl() }) };
  const smallest = ["bench/run.ts", "--json", "--smallest", ...parts];
  const { code, stdout, output } = await run(process.execPath, smallest, { cwd: ROOT, env });
  expect(code, output).toBe(0);
  expect(Object.keys(JSON.parse(stdout).parts)).toEqual(parts);
  expect(all).toEqual(expect.arrayContaining(["sessions", ...TESTED]));
}, 300_000);
