import { join } from "node:path";
import { expect, test } from "vitest";
import { corrupt } from "../../../campaigns/corrupt/corruption.ts";
import { folderWith } from "../../support/tree.ts";

test("flipped bits and cut blobs are refused or do no harm", async () => {
  const folder = join(folderWith({ "store/": "" }), "store");
  const tally = await corrupt({ folder, flips: 12, seed: 7, cutEvery: 888 });
  expect(tally.damages).toBeGreaterThan(17);
  expect(tally.refused).toBeGreaterThan(tally.damages / 2);
  expect(tally.lines).toHaveLength(1);
  expect({ wrong: tally.wrong, crashed: tally.crashed }).toEqual({ wrong: 0, crashed: 0 });
});
