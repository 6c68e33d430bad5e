import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { gcOnceADay } from "../../../src/cli/store/daily-gc.ts";
import type { GcRule } from "../../../src/store/index.ts";
import { folderWith } from "../../support/tree.ts";

const DAY = 86_400_000;

function recordingStore() {
  const rules: GcRule[] = [];
  const gc = async (rule: GcRule) => {
    rules.push(rule);
    return { sessions: [], checkpoints: 0, contexts: 0, cached: 0, texts: 0, texts_in_use: false, bytes: 0 };
  };
  return { rules, gc };
}

test("sessions without a name are looked after once a day, also by a clock that was set back", async () => {
  const folder = folderWith();
  const store = recordingStore();
  const noon = 1_700_000_000_000;
  const times = [noon, noon + 1000, noon + DAY - 1000, noon + DAY, noon + DAY + 5, noon - DAY];
  for (const now of times) await gcOnceADay(store, folder, now);
  expect(store.rules.map(({ now }) => now)).toEqual([noon, noon + DAY, noon - DAY]);
  expect(store.rules[0]).toEqual({ now: noon, anonymousMs: DAY, namedMs: null, pi: false, dryRun: false });
});

test("what goes wrong there does not fail the command", async () => {
  const folder = join(folderWith(), "gone");
  const store = recordingStore();
  await gcOnceADay(store, folder, 0);
  expect(store.rules).toEqual([]);
  mkdirSync(folder);
  const failing = { gc: () => Promise.reject(new Error("busy")) };
  await expect(gcOnceADay(failing, folder, 0)).resolves.toBeUndefined();
  rmSync(folder, { recursive: true });
});
