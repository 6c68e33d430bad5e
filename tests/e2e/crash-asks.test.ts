import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { askCampaign, printedAsks } from "../../campaigns/crash/asks/campaign.ts";

// The first processes are killed within the deepest child. `npm run crash -- --asks --runs 500` kills at every operation.
test("killed and resumed asks over a tree of depth 2 come to what an uninterrupted one does", async () => {
  const folder = mkdtempSync(join(tmpdir(), "belay-crash-asks-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const said: string[] = [];
  const options = { folder, seed: 28, runs: 2, most: 3, jobs: 2 };
  const report = await askCampaign({ ...options, say: (line) => said.push(line) });
  console.log(printedAsks(report));
  expect(report.mismatches, said.join("\n")).toEqual([]);
  expect(report.kills).toBeGreaterThan(1);
  expect(report.mostOpen).toBeGreaterThan(1);
}, 120_000);
