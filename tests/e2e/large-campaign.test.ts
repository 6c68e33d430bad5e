import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { largeCampaign, printedLarge } from "../../campaigns/large/campaign.ts";
import { filesInput } from "../../campaigns/large/inputs.ts";
import { LOW_BORDER_COMMAND } from "../support/command.ts";
import { FEW_FILES } from "../support/low-border.ts";
import { folderWith } from "../support/tree.ts";

// `npm run campaign -- large` does so with logs of hundreds of MB too, and hundreds of kills.
const KILLS = 2;
const FILES = FEW_FILES + 1;
const SEED = 4711;

test(`${KILLS} kills over a context in files: the same lines again come to what undisturbed ones do`, async () => {
  const folder = folderWith();
  const from = join(folder, "contexts");
  mkdirSync(from);
  const said: string[] = [];
  const report = await largeCampaign({
    folder,
    inputs: [filesInput(from, FILES, LOW_BORDER_COMMAND)],
    kills: KILLS,
    most: 1,
    seed: SEED,
    say: (line) => said.push(line),
  });
  console.log(printedLarge(report));
  expect(report.mismatches, said.join("\n")).toEqual([]);
  expect(report.kills).toBeGreaterThanOrEqual(KILLS);
}, 600_000);
