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
  const [warned, failed] = await Promise.all([
    belay(["doctor"], { home: shared }),
    belay(["doctor", "--json"], { home: join(folder, "file", "home") }),
  ]);
  expect(warned).toMatchObject({ code: 0, stderr: "" });
  expect(warned.stdout).toMatch(new RegExp(`\nwarning +store +${shared} .*0755.*\n +cure: chmod 700 ${shared}\n`));
  expect(warned.stdout).toMatch(/\nall is well\n$/);
  expect(failed).toMatchObject({ code: 1, stderr: "" });
  const { success, checks } = JSON.parse(failed.stdout);
  expect(success).toBe(false);
  expect(checks.slice(0, 4)).toEqual([
    { name: "node", state: "ok", detail: expect.stringContaining(process.versions.node) },
    { name: "engine", state: "ok", detail: expect.any(String) },
    { name: "sqlite", state: "ok", detail: expect.stringMatching(/^3\.[\d.]+ with full-text search$/) },
    {
      name: "store",
      state: "failed",
      detail: `${join(folder, "file")} is not a folder`,
      cure: expect.stringContaining("BELAY_HOME"),
    },
  ]);
  // It looks, and leaves nothing behind.
  expect([readdirSync(folder).sort(), readdirSync(shared)]).toEqual([["file", "shared"], []]);
});
