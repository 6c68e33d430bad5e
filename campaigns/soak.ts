import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { script, wholeNumber } from "./arguments.ts";
import { KINDS } from "./soak/kinds.ts";
import { soak } from "./soak/soak.ts";

// Sessions, asks, jobs and calls of an MCP server, round after round in one process: what is over leaves nothing on its heap.

const NAMES = Object.keys(KINDS);
const USAGE = `npm run soak -- [--kinds ${NAMES.join(",")}] [--rounds N] [--times N] [--most-bytes N] [--most-objects N]`;

await script(USAGE, read, async ({ most, ...plan }) => {
  const folder = mkdtempSync(join(tmpdir(), "belay-soak-"));
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const growths = await soak({ ...plan, folder, say: (line) => console.log(line) });
  const grown = growths.filter(({ bytes, objects }) => bytes > most.bytes || objects > most.objects);
  console.log(`kinds that grew ${grown.length}`);
  return grown.length > 0 ? 1 : 0;
});

function read(args: string[]) {
  const options = {
    kinds: { type: "string", default: NAMES.join(",") },
    rounds: { type: "string", default: "10" },
    times: { type: "string", default: "200" },
    "most-bytes": { type: "string", default: "2000" },
    "most-objects": { type: "string", default: "2" },
  } as const;
  const { values } = parseArgs({ args, options });
  const kinds = values.kinds.split(",");
  const unknown = kinds.find((kind) => !NAMES.includes(kind));
  if (unknown !== undefined) throw new Error(`--kinds is ${NAMES.join(", ")}, not ${JSON.stringify(unknown)}`);
  const rounds = wholeNumber("rounds", values.rounds);
  if (rounds < 2) throw new Error("--rounds is at least 2: growth is what lies between two");
  const most = {
    bytes: wholeNumber("most-bytes", values["most-bytes"]),
    objects: wholeNumber("most-objects", values["most-objects"]),
  };
  return { kinds, rounds, times: wholeNumber("times", values.times), most };
}
