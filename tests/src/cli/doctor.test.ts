import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { belay, temporaryFolder } from "./belay.ts";

test("doctor names every check, and cures what is wrong with the store folder", async () => {
  const folder = temporaryFolder();
  const shared = join(folder, "shared");
  mkdirSync(shared);
  chmodSync(shared, 0o755);
  writeFileSync(join(folder, "file"), "");
  const [well, warned, failed] = await Promise.all([
    belay(["doctor", "--json"], { home: join(folder, "home") }),
    belay(["doctor"], { home: shared }),
    belay(["doctor"], { home: join(folder, "file", "home") }),
  ]);
  expect(well).toMatchObject({ code: 0, stderr: "" });
  const { success, checks } = JSON.parse(well.stdout);
  expect(success).toBe(true);
  expect(checks.map(({ name }: { name: string }) => name)).toEqual(["node", "engine", "sqlite", "store", "memory"]);
  expect(checks.slice(0, 4).map(({ state }: { state: string }) => state)).toEqual(["ok", "ok", "ok", "ok"]);
  expect(checks[2].detail).toContain(process.versions.sqlite);
  expect(warned).toMatchObject({ code: 0, stderr: "" });
  expect(warned.stdout).toMatch(new RegExp(`\nwarning +store +${shared} .*0755.*\n +cure: chmod 700 ${shared}\n`));
  expect(warned.stdout).toMatch(/\nall is well\n$/);
  expect(failed).toMatchObject({ code: 1, stderr: "" });
  expect(failed.stdout).toMatch(/\nfailed +store +.*file is not a folder\n +cure: .*BELAY_HOME.*\n(.*\n)*1 failed\n$/);
  // It looks, and leaves nothing behind.
  expect([readdirSync(folder).sort(), readdirSync(shared)]).toEqual([["file", "shared"], []]);
});
