import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { script, wholeNumber } from "./arguments.ts";
import { attackCampaign } from "./attack/campaign.ts";

// Hostile programs and inputs, each in a process of its own: what holds, by class, and whether the host is as it was after each.

const USAGE = "npm run campaign -- attack [--class A,B] [--id A,B] [--times N]";
const MB = 2 ** 20;

await script(USAGE, read, async ({ classes, ids, times }) => {
  const folder = mkdtempSync(join(tmpdir(), "belay-attacks-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const started = performance.now();
  const outcomes = await attackCampaign({
    judging: { limitMs: 2000, patientMs: 10_000, memoryMb: 64, hostBytes: 150 * MB, times },
    wanted: (id, of) => (classes?.includes(of) ?? true) && (ids?.includes(id) ?? true),
    folder,
    say: (line) => console.log(line),
  });
  const done = outcomes.filter(({ absent }) => absent === null);
  const fell = done.filter((one) => one.fell.length > 0);
  console.log(`\n${"class".padEnd(14)} tried  held  fell`);
  for (const of of [...new Set(done.map((one) => one.class)), ""]) {
    const [tried, lost] = [done, fell].map((all) => all.filter((one) => of === "" || one.class === of).length);
    const cells = [tried, Number(tried) - Number(lost), lost].map((count) => String(count).padStart(5));
    console.log(`${(of || "all").padEnd(14)} ${cells.join(" ")}`);
  }
  console.log(`not applicable ${outcomes.length - done.length}`);
  console.log(`seconds        ${Math.round((performance.now() - started) / 1000)}`);
  return fell.length > 0 || done.length === 0 ? 1 : 0;
});

function read(args: string[]) {
  const options = {
    class: { type: "string" },
    id: { type: "string" },
    times: { type: "string", default: "100000" },
  } as const;
  const { values } = parseArgs({ args, options });
  return {
    classes: values.class?.split(","),
    ids: values.id?.split(","),
    times: wholeNumber("times", values.times),
  };
}
