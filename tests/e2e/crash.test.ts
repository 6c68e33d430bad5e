import { expect, test } from "vitest";
import { crashCampaign } from "../../campaigns/crash/campaign.ts";
import { crashPrograms } from "../../campaigns/crash/programs.ts";
import { printed } from "../../campaigns/crash/report.ts";
import { folderWith } from "../support/tree.ts";

// `npm run campaign -- crash` kills in all programs, as often as it is told to. Here two of them are; runs of several cells: tests/src/cli/resume.test.ts.
const KILLS = 3;
const KILLED = ["batch", "generators"];
const PROGRAMS = crashPrograms().filter(({ name }) => KILLED.includes(name));
const SEED = 4711;

test(`${KILLS} kills: what killed and resumed processes come to is what an uninterrupted one does`, async () => {
  const said: string[] = [];
  const report = await crashCampaign({
    ...{ folder: folderWith(), programs: PROGRAMS, seed: SEED, until: { kills: KILLS } },
    ...{ at: "both", most: 4, jobs: 2, apart: false, say: (line) => said.push(line) },
  });
  console.log(printed(report));
  expect(report.mismatches, said.join("\n")).toEqual([]);
  expect(report.kills).toBeGreaterThanOrEqual(KILLS);
  expect(report.restores).toBeGreaterThan(KILLS / 4);
}, 600_000);
