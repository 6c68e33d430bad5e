import fc from "fast-check";
import { expect, test } from "vitest";
import { firstWrong, histories } from "../../../support/read-cache/histories.ts";
import { ALL_BRANCHES, MUTANTS, NEWEST_ALONE, play, type Step } from "../../../support/read-cache/world.ts";

const SEED = 20_231;

test("after 600 random reads a model that takes every answer at its word believes what stands on disk", async () => {
  let reads = 0;
  const modes = new Set<string>();
  const property = fc.asyncProperty(histories(), async (steps) => {
    const played = await play(steps);
    reads += played.reads;
    for (const [mode] of played.modes) modes.add(mode);
    expect(played.wrong).toEqual([]);
  });
  await fc.assert(property, { numRuns: 100, seed: SEED });
  expect(reads).toBeGreaterThan(600);
  expect([...modes].toSorted()).toEqual(["baseline_fallback", "diff", "full", "unchanged", "unchanged_range"]);
});

test.for(MUTANTS)("the property notices when %s", async ([, mutant]) => {
  expect(await firstWrong(mutant, { runs: 500, seed: SEED })).not.toBeNull();
});

test("the property notices when other branches count", async () => {
  const acts = ["read", "read again", "change", "go back", "go to"] as const;
  expect(await firstWrong({ wasSent: () => true, acts }, { runs: 100, seed: SEED })).toBeNull();
  expect(await firstWrong({ ...ALL_BRANCHES, acts }, { runs: 100, seed: SEED })).not.toBeNull();
});

test("lines of another state stay wrong when other lines are shown again, and the next whole read is whole", async () => {
  const step = (act: Step["act"], b = 0): Step => ({ act, a: 0, b, c: 1 });
  const history = [step("read"), step("change", 2), step("read range", 0), step("go back")];
  const steps = [...history, step("read range", 1), step("read")];
  const { wrong, modes } = await play(steps);
  expect(wrong).toEqual([]);
  expect([...modes]).toEqual([
    ["full", 1],
    ["baseline_fallback", 3],
  ]);
  expect((await play(steps, NEWEST_ALONE)).wrong).toEqual([expect.stringContaining("unchanged 1-20 of /p/a: line 3")]);
});
