import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundleCommands } from "../tests/support/command.ts";
import { script, seedOf, wholeNumber } from "./arguments.ts";
import { batchCampaign } from "./batch/campaign.ts";
import { deliveryCampaign } from "./batch/delivery/campaign.ts";
import { reportLines } from "./batch/delivery/report.ts";
import { deliveryWorkersCampaign } from "./batch/delivery/workers.ts";
import { workersCampaign } from "./batch/workers.ts";

// Kills processes of `belay batch` over a folder, at steps of a try and at random, and types the same line again until the run is
// over. With `--backend postgres` these are workers over a server, which is restarted once. What the model server saw and what the store has are compared with a run that nobody disturbed.
// With `--delivery` the requests go by batches of a provider: runs of so many jobs follow each other, with one API after the other.

const USAGE =
  "npm run campaign -- batch [--delivery] [--backend folder|postgres] [--jobs N] [--kills N] [--seed N] [--answer-ms N] [--concurrency N] [--poison] [--pooler]";

const BACKENDS = ["folder", "postgres"] as const;
const CAMPAIGNS = { folder: batchCampaign, postgres: workersCampaign };
const BY_BATCH = { folder: deliveryCampaign, postgres: deliveryWorkersCampaign };

await script(USAGE, read, async ({ byBatch, backend, ...asked }) => {
  const folder = mkdtempSync(join(tmpdir(), "belay-batch-"));
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  await bundleCommands();
  const plan = { ...asked, folder, say: console.log };
  console.log(`seed ${plan.seed}`);
  const started = performance.now();
  const mismatches = await (byBatch ? delivered(BY_BATCH[backend](plan)) : answered(CAMPAIGNS[backend](plan)));
  console.log(`mismatches      ${mismatches.length}`);
  console.log(`seconds         ${Math.round((performance.now() - started) / 1000)}`);
  return mismatches.length > 0 ? 1 : 0;
});

async function delivered(campaign: ReturnType<typeof deliveryCampaign>): Promise<readonly string[]> {
  const report = await campaign;
  for (const line of reportLines(report)) console.log(line);
  return report.mismatches;
}

async function answered(campaign: ReturnType<typeof batchCampaign>): Promise<readonly string[]> {
  const { mismatches, kills, requests, again, inFlight } = await campaign;
  for (const mismatch of mismatches) console.log(`MISMATCH  ${mismatch}`);
  console.log(`kills           ${kills}`);
  console.log(`requests        ${requests}, ${again} of them sent again; ${inFlight} calls were in flight at kills`);
  return mismatches;
}

function read(args: string[]) {
  const options = {
    delivery: { type: "boolean", default: false },
    backend: { type: "string", default: "folder" },
    jobs: { type: "string" },
    kills: { type: "string", default: "30" },
    seed: { type: "string" },
    "answer-ms": { type: "string", default: "300" },
    concurrency: { type: "string", default: "8" },
    poison: { type: "boolean", default: false },
    pooler: { type: "boolean", default: false },
  } as const;
  const { values } = parseArgs({ args, options });
  const { delivery } = values;
  const backend = BACKENDS.find((one) => one === values.backend);
  if (!backend) throw new Error(`--backend is ${BACKENDS.join(" or ")}, not ${values.backend}`);
  for (const option of ["poison", "pooler"] as const) {
    if (values[option] && delivery) throw new Error(`--${option} cannot be combined with --delivery`);
    if (values[option] && backend === "folder") throw new Error(`--${option} needs workers: add --backend postgres`);
  }
  return {
    backend,
    byBatch: delivery,
    jobs: wholeNumber("jobs", values.jobs ?? (delivery ? "12" : "200")),
    kills: wholeNumber("kills", values.kills),
    seed: seedOf(values.seed),
    answerMs: wholeNumber("answer-ms", values["answer-ms"]),
    concurrency: wholeNumber("concurrency", values.concurrency),
    poison: values.poison,
    pooler: values.pooler,
  };
}
