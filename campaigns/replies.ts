import { parseArgs } from "node:util";
import { script } from "./arguments.ts";
import { CASE_FILES, readCases } from "./replies/case.ts";
import { type Played, play } from "./replies/play.ts";

// Plays replies of models against scripted servers, and compares what Belay makes of each with what has to come of it.

const USAGE = "npm run campaign -- replies [--only ID-PREFIX] [--cases FILE]";

await script(USAGE, read, async ({ files, only }) => {
  const cases = readCases(files).filter(({ id }) => id.startsWith(only));
  if (cases.length === 0) throw new Error(`no case begins with ${only}`);
  const started = performance.now();
  const played = await play(cases, tellWrong);
  for (const [kind, line] of byKind(played)) console.log(`${kind.padEnd(10)} ${line}`);
  console.log(`all        ${countOf(played)}`);
  console.log(`seconds    ${((performance.now() - started) / 1000).toFixed(1)}`);
  return played.every(({ wrong }) => wrong.length === 0) ? 0 : 1;
});

function tellWrong({ case: { id }, wrong }: Played): void {
  if (wrong.length > 0) console.log(`${id}: ${wrong.map(shortened).join("; ")}`);
}

function shortened(line: string): string {
  return line.replaceAll("\n", " ").slice(0, 300);
}

function byKind(played: readonly Played[]): readonly (readonly [string, string])[] {
  const kinds = [...new Set(played.map((one) => one.case.kind))];
  return kinds.map((kind) => [kind, countOf(played.filter((one) => one.case.kind === kind))]);
}

function countOf(played: readonly Played[]): string {
  return `${played.length} cases, ${played.filter(({ wrong }) => wrong.length === 0).length} right`;
}

function read(args: string[]) {
  const options = { only: { type: "string", default: "" }, cases: { type: "string" } } as const;
  const { values } = parseArgs({ args, options });
  return { only: values.only, files: values.cases === undefined ? CASE_FILES : [values.cases] };
}
