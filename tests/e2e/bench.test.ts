import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BUILD_VARIABLE } from "../../bench/built.ts";
import { ROOT, run } from "../../scripts/process.ts";
import { BUNDLED, QUICK } from "../support/command.ts";
import { freshStoreUrl, NO_POSTGRES } from "../support/postgres/server.ts";

test("each part of the bench runs, in its smallest form", async () => {
  const [list = ""] = /^const PARTS\b.*?^\};/ms.exec(readFileSync(join(ROOT, "bench/run.ts"), "utf8")) ?? [];
  const parts = [...list.matchAll(/^ {2}"?([a-z-]+)"?: bench/gm)].map(([, name = ""]) => name);
  // Its processes live as shortly as those of other tests, whose bundle it takes. NODE_OPTIONS may not have the first argument.
  const quick = { [BUILD_VARIABLE]: BUNDLED, NODE_OPTIONS: QUICK.slice(1).join(" ") };
  const env = { ...process.env, ...quick, ...(NO_POSTGRES ? {} : { BELAY_TEST_POSTGRES: await freshStoreUrl() }) };
  const smallest = ["bench/run.ts", "--json", "--smallest"];
  const { code, stdout, output } = await run(process.execPath, smallest, { cwd: ROOT, env });
  expect(code, output).toBe(0);
  expect(Object.keys(JSON.parse(stdout).parts)).toEqual(parts);
  expect(parts).toContain("sessions");
}, 300_000);
