import { expect, test } from "vitest";
import { printedWorkflow, workflowCampaign } from "../../campaigns/workflow/campaign.ts";
import { freshStoreUrl, NO_POSTGRES } from "../support/postgres/server.ts";
import { folderWith } from "../support/tree.ts";

// `npm run campaign -- workflow` does so with hundreds of kills.
const SMALL = { kills: 3, found: 3, chains: 1 };

test("a workflow whose processes are killed starts no agent twice, and loses no answer", async () => {
  const said: string[] = [];
  const options = { ...SMALL, folder: folderWith(), seed: 5, say: (line: string) => said.push(line) };
  const report = await workflowCampaign({ ...options, storeUrl: null });
  console.log(printedWorkflow(report));
  expect([...report.twice, ...report.wrong, ...report.mismatches], said.join("\n")).toEqual([]);
});

test.skipIf(NO_POSTGRES !== null)("so does one on PostgreSQL", async () => {
  const said: string[] = [];
  const options = { ...SMALL, kills: 2, folder: folderWith(), seed: 6, say: (line: string) => said.push(line) };
  const report = await workflowCampaign({ ...options, storeUrl: freshStoreUrl });
  expect([...report.twice, ...report.wrong, ...report.mismatches], said.join("\n")).toEqual([]);
});
