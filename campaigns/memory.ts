import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildCommand } from "../bench/built.ts";
import { script, wholeNumber } from "./arguments.ts";
import { boundFor, CASES, peakOf, peakOfSessions, SESSIONS } from "./attack/memory.ts";

// Cells that take memory, at several limits of the guest: the peak of the whole process against its bound. It needs Linux.

const PROCESS = "campaigns/attack/memory-process";
const NAMES = [...Object.keys(CASES), ...Object.keys(SESSIONS)];
const USAGE = "npm run campaign -- memory [--limits 16,64,256] [--cases NAME,NAME]";

await script(USAGE, read, async ({ limits, cases }) => {
  const built = await buildCommand(PROCESS);
  let over = 0;
  console.log(`${"cell".padEnd(40)} limit  peak bound`);
  for (const name of cases) {
    for (const limit of limits) {
      const asked = SESSIONS[name]?.(limit);
      const peak = asked
        ? peakOfSessions(join(built.folder, `${PROCESS}.js`), asked, limit)
        : peakOf([built.main], CASES[name]?.(limit) ?? "", limit);
      const { mb, seconds, end } = await peak;
      const isOver = mb > boundFor(limit, asked);
      if (isOver) over++;
      const figures = [limit, mb, boundFor(limit, asked)].map((figure) => figure.toFixed().padStart(5)).join(" ");
      console.log(`${name.padEnd(40)} ${figures} ${isOver ? "over" : "    "} ${seconds.toFixed(1)} s ${end}`);
    }
  }
  console.log(`over their bound ${over}`);
  return over > 0 ? 1 : 0;
});

function read(args: string[]) {
  const options = {
    limits: { type: "string", default: "16,64,256" },
    cases: { type: "string", default: NAMES.join(",") },
  } as const;
  const { values } = parseArgs({ args, options });
  const cases = values.cases.split(",");
  const unknown = cases.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw new Error(`--cases are ${NAMES.join(", ")}, not ${unknown}`);
  return { cases, limits: values.limits.split(",").map((limit) => wholeNumber("limits", limit)) };
}
