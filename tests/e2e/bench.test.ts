import { expect, test } from "vitest";
import { ROOT, run } from "../../scripts/process.ts";

test("each part of the bench runs, in its smallest form", async () => {
  const usage = await run(process.execPath, ["bench/run.ts", "nothing"], { cwd: ROOT });
  const parts = [...usage.stderr.matchAll(/\[([a-z][a-z-]*)\]/g)].map(([, name = ""]) => name);
  const { code, stdout, output } = await run(process.execPath, ["bench/run.ts", "--json", "--smallest"], { cwd: ROOT });
  expect(code, output).toBe(0);
  expect(Object.keys(JSON.parse(stdout).parts)).toEqual(parts);
  expect(parts).toContain("sessions");
}, 300_000);
