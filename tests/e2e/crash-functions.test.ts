import { join } from "node:path";
import { expect, test } from "vitest";
import { functionCampaign, printedFunctions } from "../../campaigns/crash/functions/campaign.ts";
import { LENDING_PROGRAM } from "../support/command.ts";
import { live } from "../support/crash/life.ts";
import { folderWith } from "../support/tree.ts";

// `npm run campaign -- crash --functions` kills as often as it is told to.
const KILLS = 1;

test(`${KILLS} kill of programs that lend functions: none is run that was answered, and no "once" twice`, async () => {
  const said: string[] = [];
  const folder = folderWith();
  const report = await functionCampaign({
    folder,
    seed: 112,
    kills: KILLS,
    most: 1,
    jobs: 1,
    say: (line) => said.push(line),
  });
  console.log(printedFunctions(report));
  expect(report.mismatches, said.join("\n")).toEqual([]);
  expect(report.kills).toBeGreaterThanOrEqual(KILLS);
});

test("a call that waited for its approval when its process was killed is asked for again", async () => {
  const folder = folderWith();
  const life = (...dies: readonly string[]) =>
    live(["asked-again", join(folder, "log"), ...dies], {
      ...{ cwd: folder, home: join(folder, "home"), key: "", kill: null, command: LENDING_PROGRAM },
    });
  expect(await life("when-asked")).toMatchObject({ code: null, stdout: "" });
  const { stdout } = await life();
  expect(JSON.parse(stdout).result_json.flat()).not.toContain("process_restarted");
});
