import { type Described, isReserved, MACHINE_NAMES } from "../../builtins/index.ts";
import { ERROR_CODES, type Json } from "../../src/index.ts";
import { agentToolsTable } from "./agent-tools.ts";
import { ERROR_CODE_NOTES } from "./error-codes.ts";
import type { ExampleResults } from "./examples.ts";
import { limitsTables } from "./limits-tables.ts";

const INTRODUCTION = `# Builtins

This page lists the globals of every cell. It is generated from the definitions in \`builtins/\` by \`npm run docs\`.

Offsets are UTF-16 units of P, as in every JavaScript string; ranges are \`start..end\` without the end. A builtin that
reads the context throws \`context_not_loaded\` if none is loaded. The examples ran over a context of three small
documents; the result of each follows \`//=>\`.`;

/** docs/builtins.md: the builtins in order, what the machine adds, limits, error codes. */
export function referenceFile(builtins: readonly Described[], results: ExampleResults): string {
  const sections = [
    INTRODUCTION,
    shadowing(builtins.map(({ name }) => name)),
    contents(builtins.map(({ name }) => name)),
    ...builtins.map((builtin) => builtinSection(builtin, results.get(builtin.name))),
    "## Names of the machine",
    ...Object.entries(MACHINE_NAMES).map(
      ([name, { signature, summary }]) => `### ${name}\n\n${fenced("ts", signature)}\n\n${summary}`,
    ),
    "## Tools of sub-agents",
    "A sub-agent has these tools, unless the call names others in `tools`. They read only what the session may load.",
    agentToolsTable(),
    "## All limits",
    limitsTables(),
    "## Error codes",
    "Every error has `error_code`, `error_message` and `suggestion`. An error that the cell can catch has its code in `error.code`.",
    errorTable(),
  ];
  return `${sections.join("\n\n")}\n`;
}

function shadowing(names: readonly string[]): string {
  const open = names.filter((name) => !isReserved(name)).map((name) => `\`${name}\``);
  return `A cell or helper may declare ${open.join(", ")} for itself. Its own declaration wins from there on, with the warning \`builtin_shadowed: NAME\`.`;
}

function contents(names: readonly string[]): string {
  const further = ["Names of the machine", "Tools of sub-agents", "All limits", "Error codes"];
  const links = [...names, ...further].map((title) => `[${title}](#${title.toLowerCase().replaceAll(" ", "-")})`);
  return links.join(" · ");
}

function builtinSection(described: Described, result: Json | undefined): string {
  const { name, signature, summary, types, example, errors = {} } = described;
  const shown = result === undefined ? example : `${example}\n${resultComment(result)}`;
  return [
    `## ${name}`,
    fenced("ts", types === undefined ? signature : `${signature}\n\n${types}`),
    summary,
    ...errorList(errors),
    fenced("js", shown),
  ].join("\n\n");
}

/** The codes of a builtin's errors, and the faults of arguments that give a `js_error`; empty if it has none. */
function errorList({ js_error, ...others }: NonNullable<Described["errors"]>): string[] {
  const codes = Object.keys(others).map((code) => `\`${code}\``);
  const named = codes.length === 0 ? [] : [`[Errors](#error-codes): ${codes.join(", ")}.`];
  return js_error === undefined ? named : [...named, `\`js_error\`: ${js_error}.`];
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
