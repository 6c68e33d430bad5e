import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundleCommands } from "../tests/support/command.ts";
import { startCluster } from "../tests/support/postgres/cluster.ts";
import { script, seedOf, wholeNumber } from "./arguments.ts";
import { printedWorkflow, type WorkflowReport, workflowCampaign } from "./workflow/campaign.ts";

// Kills Belay, keepers and agents of workflows at random moments and shortly after an agent's end, then types the same line
// until it ends, sometimes beside another of the same line or `belay gc`. The agents' own log says how often each was started.

const USAGE =
  "npm run campaign -- workflow [--backend folder|postgres] [--kills N] [--found N] [--chains N] [--seed N] [--keep]";

const BACKENDS = ["folder", "postgres"] as const;

await script(USAGE, read, async ({ backend, keep, ...plan }) => {
  // Processes are known by their folder, which the kernel tells without symlinks.
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "belay-workflow-")));
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
  process.once("exit", () => {
    if (!keep) rmSync(folder, { recursive: true, force: true });
  });
  await bundleCommands();
  console.log(`seed ${plan.seed}, in ${folder}`);
  const started = performance.now();
  const options = { ...plan, folder, say: (line: string) => console.log(line) };
  const report = await (backend === "folder" ? workflowCampaign({ ...options, storeUrl: null }) : overServer(options));
  console.log(`${printedWorkflow(report)}\nseconds         ${Math.round((performance.now() - started) / 1000)}`);
  return report.twice.length + report.wrong.length + report.mismatches.length > 0 ? 1 : 0;
});

type Asked = Omit<Parameters<typeof workflowCampaign>[0], "storeUrl">;

/** Each round has a schema of its own on one server. */
async function overServer(options: Asked): Promise<WorkflowReport> {
  await using cluster = await startCluster();
  let schemas = 0;
  const storeUrl = async () => `${cluster.url}?schema=round_${schemas++}`;
  return await workflowCampaign({ ...options, storeUrl });
}

function read(args: string[]) {
  const options = {
    backend: { type: "string", default: "folder" },
    kills: { type: "string", default: "300" },
    found: { type: "string", default: "8" },
    chains: { type: "string", default: "3" },
    seed: { type: "string" },
    keep: { type: "boolean", default: false },
  } as const;
  const { values } = parseArgs({ args, options });
  const backend = BACKENDS.find((one) => one === values.backend);
  if (!backend) throw new Error(`--backend is ${BACKENDS.join(" or ")}, not ${values.backend}`);
  return {
    backend,
    keep: values.keep,
    kills: wholeNumber("kills", values.kills),
    found: wholeNumber("found", values.found),
    chains: wholeNumber("chains", values.chains),
    seed: seedOf(values.seed),
  };
}
