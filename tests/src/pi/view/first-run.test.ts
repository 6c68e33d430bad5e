import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tellFirstRun } from "../../../../src/pi/view/index.ts";
import { FIRST_RUN_FILE } from "../../../support/pi/home.ts";
import { folderWith } from "../../../support/tree.ts";

test("the notice is told once for a store, and names the way out", () => {
  const cwd = folderWith({});
  const env = { BELAY_HOME: join(cwd, "belay"), HOME: cwd };
  const told: string[] = [];
  tellFirstRun(cwd, (text) => void told.push(text), env);
  tellFirstRun(cwd, (text) => void told.push(text), env);
  expect(told).toEqual([expect.stringContaining("/rlm off")]);
  expect(statSync(env.BELAY_HOME).mode & 0o777).toBe(0o700);
  expect(existsSync(join(env.BELAY_HOME, FIRST_RUN_FILE))).toBe(true);
});

test("if it cannot be remembered it is not told", () => {
  const cwd = folderWith({});
  writeFileSync(join(cwd, "belay"), "a file where the folder should be");
  const told: string[] = [];
  tellFirstRun(cwd, (text) => void told.push(text), { BELAY_HOME: join(cwd, "belay"), HOME: cwd });
  expect(told).toEqual([]);
});

test("where texts do not go outside it is not told, and not taken for told", () => {
  const cwd = folderWith({ ".pi/belay.json": '{ "externalize": false }' });
  const env = { BELAY_HOME: join(cwd, "belay"), HOME: cwd };
  const told: string[] = [];
  tellFirstRun(cwd, (text) => void told.push(text), env);
  expect([told, existsSync(env.BELAY_HOME)]).toEqual([[], false]);
});
