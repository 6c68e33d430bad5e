import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { script, wholeNumber } from "./arguments.ts";
import { KINDS } from "./soak/kinds.ts";
import { soak } from "./soak/soak.ts";

// Sessions, asks, jobs and calls of an MCP server, round after round in one process: what is over leaves nothing on its heap.

const NAMES = Object.keys(KINDS);
const USAGE = `npm run campaign -- soak [--kinds ${NAMES.join(",")}] [--rounds N] [--times N] [--long [--part N]] [--most-bytes N] [--most-objects N]`;

/** How many of each the long form does. */
const LONG: Readonly<Record<string, number>> = {
  ...{ execs: 10_000, memory: 10_000, disk: 10_000, asks: 1_000, jobs: 3_000, mcp: 10_000 },
};
/** Idle threads of machines end by then. */
const GONE_MS = 30_000;
/** What heap and resident memory may be away from their mean in the last half of the long form, in percent. */
const MOST_UNEVEN = 5;

await script(USAGE, read, async ({ most, isLong, ...plan }) => {
  const folder = mkdtempSync(join(tmpdir(), "belay-soak-"));
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const growths = await soak({
    ...plan,
    kinds: plan.kinds.map((kind) => [kind]),
    goneMs: GONE_MS,
    folder,
    say: (line) => console.log(line),
  });
  const grown = growths.filter(({ bytes, objects, uneven, left }) => {
    const isUneven = isLong && Math.max(uneven.heap, uneven.rss) > MOST_UNEVEN;
    return bytes > most.bytes || objects > most.objects || isUneven || Object.values(left).some((count) => count > 0);
  });
  console.log(`kinds that grew ${grown.length}${grown.map(({ kind }) => ` ${kind}`).join("")}`);
  return grown.length > 0 ? 1 : 0;
});

function read(args: string[]) {
  const options = {
    kinds: { type: "string", default: NAMES.join(",") },
    rounds: { type: "string", default: "10" },
    times: { type: "string", default: "200" },
    long: { type: "boolean", default: false },
    part: { type: "string", default: "1" },
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
  const [usual, part] = [wholeNumber("times", values.times), wholeNumber("part", values.part)];
  const times = (kind: string) => (values.long ? Math.ceil((LONG[kind] ?? 0) / part / rounds) : usual);
  return { kinds, rounds, times, isLong: values.long, most };
}
