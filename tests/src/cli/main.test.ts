import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { nodeProblem, OLDEST_NODE } from "../../../src/cli/node-version.ts";
import { silenceSqliteWarning } from "../../../src/platform/sqlite-warning.ts";
import { folderWith } from "../../support/tree.ts";
import { belay } from "./belay.ts";

test("a Node that is too old is refused in one line", () => {
  for (const old of ["20.20.2", "22.18.9", "9.99.0"]) {
    expect(nodeProblem(old)).toMatch(new RegExp(`^Node ${old} is too old: Belay needs ${OLDEST_NODE} or newer.*$`));
  }
  for (const good of ["22.19.0", "22.20.0", "24.0.0", "25.1.0-nightly"]) expect(nodeProblem(good)).toBeNull();
  const { engines } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
  expect(`>=${OLDEST_NODE}`).toMatch(new RegExp(`^${engines.node}`));
});

test("compiled modules are kept in a store folder that is there, and only there", async () => {
  const home = folderWith();
  const open = join(folderWith(), "open");
  mkdirSync(join(open, "compiled"), { recursive: true });
  chmodSync(join(open, "compiled"), 0o777);
  const env = { NODE_COMPILE_CACHE: "" };
  const [kept, closed, none] = await Promise.all([
    belay(["--version"], { env, home }),
    belay(["-V"], { env, home: open }),
    belay(["--version"], { env, home: join(home, "none") }),
  ]);
  expect([kept.code, closed, none]).toEqual([0, kept, kept]);
  expect(readdirSync(home)).toEqual(["compiled"]);
  for (const folder of [home, open]) expect(statSync(join(folder, "compiled")).mode & 0o777).toBe(0o700);
  writeFileSync(join(home, "file"), "");
  expect(await belay(["--version"], { env, home: join(home, "file") })).toEqual(kept);
});

test("of all warnings, only that of node:sqlite is dropped", () => {
  const emit = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  onTestFinished(() => emit.mockRestore());
  silenceSqliteWarning();
  const sqlite = "SQLite is an experimental feature and might change at any time";
  process.emitWarning(sqlite, "ExperimentalWarning");
  expect(emit).not.toHaveBeenCalled();
  process.emitWarning("Type Stripping is an experimental feature", "ExperimentalWarning");
  process.emitWarning(sqlite, "DeprecationWarning", "X1");
  process.emitWarning(new Error("plain"));
  expect(emit.mock.calls).toEqual([
    ["Type Stripping is an experimental feature", "ExperimentalWarning"],
    [sqlite, "DeprecationWarning", "X1"],
    [new Error("plain")],
  ]);
});
