import { openSessionWith } from "../src/session/index.ts";
import type { Corpus } from "./corpus.ts";
import { median, takeTurns, timed } from "./measure.ts";
import type { Report } from "./report.ts";
import { size } from "./size.ts";

const PEEKS = size(40_000, 400);
/** Each is 25 characters, at a place that the one before does not foretell. */
const PEEK = `const last = stats().chars - 25;
let seen = 0;
for (let at = 0; at < ${PEEKS}; at++) {
  const start = (at * 7919 * 613) % last;
  seen += peek(start, start + 25).length;
}
seen`;
const FIND = `find("e").matches.length`;

const CELLS = [
  { name: `${PEEKS.toLocaleString("en-US")} scattered peeks`, code: PEEK, most: 1.1 },
  { name: "find of 10,000 matches", code: FIND, most: 1.05 },
];

/** Cells whose coverage is noted, against the same cells on a machine that notes nothing. */
export async function benchCoverage({ folder }: Corpus): Promise<Report> {
  const open = async (machineEntry?: URL) => {
    const session = await openSessionWith({ roots: [folder], cwd: folder }, machineEntry ? { machineEntry } : {});
    await session.load(folder);
    return session;
  };
  await using noted = await open();
  await using unnoted = await open(new URL("./unnoted-machine.ts", import.meta.url));
  const cases: { name: string; measured: Awaited<ReturnType<typeof takeTurns>> }[] = [];
  const aims: Report["aims"][number][] = [];
  for (const { name, code, most } of CELLS) {
    const contestant = (label: string, session: typeof noted) => ({
      name: label,
      once: () =>
        timed(async () => {
          const answer = await session.exec(code);
          if (!answer.success) throw new Error(answer.error_message);
        }),
    });
    const contestants = [contestant("Belay", noted), contestant("without notes", unnoted)];
    const measured = await takeTurns(contestants, { rounds: 21, warmups: 3 });
    cases.push({ name, measured });
    const [belay = Number.NaN, bare = Number.NaN] = measured.map(({ samples }) => median(samples));
    const ratio = belay / bare;
    aims.push({ text: `${name} ≤ ${most} of a machine without notes`, value: ratio.toFixed(3), met: ratio <= most });
  }
  return {
    title: "coverage: a cell whose coverage is noted, from the call to its answer",
    cases,
    notes: ["Both sessions hold the corpus. The other one runs the same build with builtins that note nothing."],
    aims,
  };
}
