import { expect, test } from "vitest";
import { functionCampaign, printedFunctions } from "../../campaigns/crash/functions/campaign.ts";
import { folderWith } from "../support/tree.ts";

// `npm run crash -- --functions` kills as often as it is told to.
const KILLS = 2;

test(`${KILLS} kills of programs that lend functions: none is run that was answered, and no "once" twice`, async () => {
  const said: string[] = [];
  const folder = folderWith();
  const report = await functionCampaign({
    folder,
    seed: 112,
    kills: KILLS,
    most: 2,
    jobs: 1,
    say: (line) => said.push(line),
  });
  console.log(printedFunctions(report));
  expect(report.mismatches, said.join("\n")).toEqual([]);
  expect(report.kills).toBeGreaterThanOrEqual(KILLS);
});
