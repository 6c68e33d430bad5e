import { cpus } from "node:os";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { useEntriesOf } from "../src/entries.ts";
import { benchAsk } from "./ask.ts";
import { benchBatch } from "./batch.ts";
import { BUILD_VARIABLE } from "./built.ts";
import { benchCalls } from "./calls.ts";
import { type Corpus, openCorpus } from "./corpus.ts";
import { benchCoverage } from "./coverage.ts";
import { benchDelivery } from "./delivery.ts";
import { benchDocuments } from "./documents.ts";
import { benchDurable } from "./durable.ts";
import { benchEngine } from "./engine.ts";
import { benchExec } from "./exec.ts";
import { benchFind } from "./find.ts";
import { benchFullSize } from "./full-size.ts";
import { benchHeld } from "./held.ts";
import { benchHistory } from "./history.ts";
import { benchLoad } from "./load.ts";
import { benchManyCalls } from "./many-calls.ts";
import { benchMcp } from "./mcp.ts";
import { benchOtlp } from "./otlp.ts";
import { benchOutside } from "./outside.ts";
import { benchPeers } from "./peers.ts";
import { benchPostgres } from "./postgres.ts";
import { benchRegex } from "./regex.ts";
import { figuresOf, printed, type Report } from "./report.ts";
import { benchSearch } from "./search.ts";
import { benchMemory, benchSessions } from "./sessions.ts";
import { size } from "./size.ts";
import { benchSizes, SIZES } from "./sizes.ts";
import { benchSqlite } from "./sqlite.ts";
import { benchStart } from "./start.ts";
import { benchStems } from "./stems.ts";
import { benchView } from "./view.ts";
import { benchWaiting } from "./waiting.ts";
import { benchWorkflow } from "./workflow.ts";

const PARTS: Readonly<Record<string, (corpus: Corpus) => Promise<Report>>> = {
  exec: benchExec,
  engine: benchEngine,
  find: benchFind,
  regex: benchRegex,
  search: benchSearch,
  stems: benchStems,
  load: benchLoad,
  documents: benchDocuments,
  batch: benchBatch,
  delivery: benchDelivery,
  calls: benchCalls,
  "many-calls": benchManyCalls,
  ask: benchAsk,
  coverage: benchCoverage,
  start: benchStart,
  durable: benchDurable,
  sqlite: benchSqlite,
  held: benchHeld,
  postgres: benchPostgres,
  mcp: benchMcp,
  outside: benchOutside,
  history: benchHistory,
  otlp: benchOtlp,
  sessions: benchSessions,
  memory: benchMemory,
  waiting: benchWaiting,
  view: benchView,
  workflow: benchWorkflow,
};
/** Parts that install packages or take long, so they run only if they are named. */
const BY_NAME: typeof PARTS = {
  peers: benchPeers,
  "full-size": benchFullSize,
};
const MB = 1024 * 1024;
const CORPUS_BYTES = size(10 * MB, MB / 4);
const USAGE = `usage: npm run bench -- [--json] [--smallest] [${Object.keys(PARTS).join("] [")}]
       npm run bench -- peers, which installs sandboxes and readers of others in bench/peers
       npm run bench -- full-size, which loads logs of 0.1, 1 and 4 GB (or of BELAY_BENCH_GB=0.1,1)
       npm run bench -- --size ${Object.keys(SIZES).join("|")} [--write]`;

// Threads from a build begin in half the time.
const build = process.env[BUILD_VARIABLE];
if (build !== undefined) useEntriesOf(pathToFileURL(`${build}/src/`));

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  const { json, parts, fullSize, write } = read(args);
  if (!parts || (write && fullSize === undefined)) {
    console.error(USAGE);
    return 2;
  }
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
  if (fullSize !== undefined) {
    await benchSizes(fullSize, write);
    return 0;
  }
  using corpus = await openCorpus(CORPUS_BYTES);
  const machine = { node: process.version, platform: `${process.platform}-${process.arch}`, cpus: cpus().length };
  const size = { files: corpus.files.length, bytes: corpus.bytes };
  if (!json) {
    const { node, platform, cpus } = machine;
    console.log(
      `Node ${node}, ${platform}, ${cpus} CPUs; corpus ${size.files} files, ${(size.bytes / MB).toFixed(2)} MB`,
    );
  }
  const reports: Record<string, unknown> = {};
  for (const [name, part] of parts) {
    const report = await part(corpus);
    const cases = report.cases.map((one) => ({ name: one.name, figures: figuresOf(one) }));
    reports[name] = { ...report, cases };
    if (!json) console.log(`\n${printed(report)}`);
  }
  if (json) console.log(JSON.stringify({ ...machine, corpus: size, parts: reports }));
  return 0;
}

/** `parts` is undefined if an argument is not known. */
function read(args: string[]) {
  try {
    const { values, positionals } = parseArgs({
      args,
      options: {
        json: { type: "boolean", default: false },
        smallest: { type: "boolean", default: false },
        size: { type: "string" },
        write: { type: "boolean", default: false },
      },
      allowPositionals: true,
    });
    const names = positionals.length > 0 ? positionals : Object.keys(PARTS);
    const parts = names.flatMap((name) => {
      const part = PARTS[name] ?? BY_NAME[name];
      return part ? [[name, part] as const] : [];
    });
    const isKnown = parts.length === names.length && (values.size === undefined || values.size in SIZES);
    const { json, size: fullSize, write } = values;
    return { json, fullSize, write, parts: isKnown ? parts : undefined };
  } catch {
    return { json: false, fullSize: undefined, write: false, parts: undefined };
  }
}
