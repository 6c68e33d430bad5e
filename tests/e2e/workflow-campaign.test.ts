import { expect, test } from "vitest";
import { printedWorkflow, workflowCampaign } from "../../campaigns/workflow/campaign.ts";
import { folderWith } from "../support/tree.ts";

// `npm run campaign -- workflow` does so with hundreds of kills, and with `--backend postgres` on a server. Single kills there:
// workflow-guarantee.test.ts.
const SMALL = { kills: 2, lives: 3, found: 2, chains: 1 };

test("a workflow whose processes are killed starts no agent twice, and loses no answer", {
  timeout: 240_000,
}, async () => {
  const said: string[] = [];
  const options = { ...SMALL, folder: folderWith(), seed: 5, say: (line: string) => said.push(line) };
  const report = await workflowCampaign({ ...options, storeUrl: null });
  console.log(printedWorkflow(report));
  expect([...report.twice, ...report.wrong, ...report.mismatches], said.join("\n")).toEqual([]);
});
