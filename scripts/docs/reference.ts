import { type Described, MACHINE_NAMES } from "../../builtins/index.ts";
import { ERROR_CODES, type Json } from "../../src/index.ts";
import { ERROR_CODE_NOTES } from "./error-codes.ts";
import type { ExampleResults } from "./examples.ts";
import { limitsTables } from "./limits-tables.ts";
import { MACHINE_NAME_NOTES } from "./machine-names.ts";

const INTRODUCTION = `# Builtins

Globals of every cell. This file is generated from the definitions in \`builtins/\` by \`npm run docs\`.

Offsets are UTF-16 units of P, as in every JavaScript string; ranges are \`start..end\` without the end. Where a builtin
reads the context and none is loaded, it throws \`context_not_loaded\`. The examples ran over a context of three small
documents; what each gave stands under \`//=>\`.`;

/** docs/builtins.md: the builtins in order, what the machine adds, limits, error codes. */
export function referenceFile(builtins: readonly Described[], results: ExampleResults): string {
  const sections = [
    INTRODUCTION,
    contents(builtins.map(({ name }) => name)),
    ...builtins.map((builtin) => builtinSection(builtin, results.get(builtin.name))),
    "## Names of the machine",
    ...MACHINE_NAMES.map((name) => {
      const { signature, summary } = MACHINE_NAME_NOTES[name];
      return `### ${name}\n\n${fenced("ts", signature)}\n\n${summary}`;
    }),
    "## All limits",
    limitsTables(),
    "## Error codes",
    "Every error has `error_code`, `error_message` and `suggestion`. An error that the cell can catch has its code in `error.code`.",
    errorTable(),
  ];
  return `${sections.join("\n\n")}\n`;
}

function contents(names: readonly string[]): string {
  const further = ["Names of the machine", "All limits", "Error codes"];
  const links = [...names, ...further].map((title) => `[${title}](#${title.toLowerCase().replaceAll(" ", "-")})`);
  return links.join(" · ");
}

function builtinSection({ name, signature, summary, types, example }: Described, result: Json | undefined): string {
  const shown = result === undefined ? example : `${example}\n${resultComment(result)}`;
  return [
    `## ${name}`,
    fenced("ts", types === undefined ? signature : `${signature}\n\n${types}`),
    summary,
    fenced("js", shown),
  ].join("\n\n");
}

const LINE = 110;

function resultComment(result: Json): string {
  const line = JSON.stringify(result);
  const text = line.length <= LINE ? line : JSON.stringify(result, null, 2);
  return `//=> ${text.replaceAll("\n", "\n//   ")}`;
}

function fenced(language: string, code: string): string {
  return `\`\`\`${language}\n${code}\n\`\`\``;
}

function errorTable(): string {
  const rows = ERROR_CODES.map((code) => {
    const { meaning, cure } = ERROR_CODE_NOTES[code];
    return `| \`${code}\` | ${meaning} | ${cure} |`;
  });
  return ["| code | meaning | cure |", "|---|---|---|", ...rows].join("\n");
}
