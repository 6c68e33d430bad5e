import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundleCommands } from "../tests/support/command.ts";
import { script, seedOf, wholeNumber } from "./arguments.ts";
import { batchCampaign } from "./batch/campaign.ts";
import { workersCampaign } from "./batch/workers.ts";

// Kills processes of `belay batch` over a folder, at steps of a try and at random, and types the same line again until the run is
// over. With `--backend postgres` these are workers over a server, which is restarted once. What the model server saw and what the store has are compared with a run that nobody disturbed.

const USAGE =
  "npm run batch-campaign -- [--backend folder|postgres] [--jobs N] [--kills N] [--seed N] [--answer-ms N] [--concurrency N] [--poison] [--pooler]";

const CAMPAIGNS = { folder: batchCampaign, postgres: workersCampaign };

await script(USAGE, read, async ({ campaign, ...plan }) => {
  const folder = mkdtempSync(join(tmpdir(), "belay-batch-"));
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  await bundleCommands();
  console.log(`seed ${plan.seed}`);
  const started = performance.now();
  const { mismatches, kills, requests, again, inFlight } = await campaign({ ...plan, folder, say: console.log });
  for (const mismatch of mismatches) console.log(`MISMATCH  ${mismatch}`);
  console.log(`kills           ${kills}`);
  console.log(`requests        ${requests}, ${again} of them sent again; ${inFlight} calls were in flight at kills`);
  console.log(`mismatches      ${mismatches.length}`);
  console.log(`seconds         ${Math.round((performance.now() - started) / 1000)}`);
  return mismatches.length > 0 ? 1 : 0;
});

function read(args: string[]) {
  const options = {
    backend: { type: "string", default: "folder" },
    jobs: { type: "string", default: "200" },
    kills: { type: "string", default: "30" },
    seed: { type: "string" },
    "answer-ms": { type: "string", default: "300" },
    concurrency: { type: "string", default: "8" },
    poison: { type: "boolean", default: false },
    pooler: { type: "boolean", default: false },
  } as const;
  const { values } = parseArgs({ args, options });
  const { backend } = values;
  if (backend !== "folder" && backend !== "postgres")
    throw new Error(`--backend is folder or postgres, not ${backend}`);
  for (const option of ["poison", "pooler"] as const) {
    if (values[option] && backend === "folder") throw new Error(`--${option} needs workers: add --backend postgres`);
  }
  return {
    campaign: CAMPAIGNS[backend],
    jobs: wholeNumber("jobs", values.jobs),
    kills: wholeNumber("kills", values.kills),
    seed: seedOf(values.seed),
    answerMs: wholeNumber("answer-ms", values["answer-ms"]),
    concurrency: wholeNumber("concurrency", values.concurrency),
    poison: values.poison,
    pooler: values.pooler,
  };
}
