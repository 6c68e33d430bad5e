import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROWS, variableOf } from "../../src/settings/index.ts";
import { KEYS_OF_PI } from "../../src/settings/pi-table.ts";
import { ROOT } from "../process.ts";

/** The pages with a table of settings, with the table as it is now; the rest of a page is written by hand. */
export function settingsPages(): [path: string, text: string][] {
  return [
    pageWith("docs/configuration.md", ["key", "variable", "flag", "default", ""], ROWS.map(configurationRow)),
    pageWith(
      "docs/pi/settings.md",
      ["key", "default", ""],
      KEYS_OF_PI.map(({ key, usual, docs }) => [`\`${key}\``, usual, docs]),
    ),
  ];
}

function configurationRow([key, row]: (typeof ROWS)[number]): string[] {
  const { flag, onlyInFiles, default: usual, docs } = row;
  const variable = onlyInFiles ? "none" : `\`${variableOf(key)}\``;
  const typed = flag ? `\`--${flag.name ?? key.replaceAll("_", "-")}\`` : "none";
  return [`\`${key}\``, variable, typed, String(usual ?? "none"), docs];
}

/** @throws Error if the page has no table with this head */
function pageWith(path: string, head: readonly string[], rows: readonly string[][]): [path: string, text: string] {
  const lines = readFileSync(join(ROOT, path), "utf8").split("\n");
  const first = lines.indexOf(lineOf(head));
  if (first < 0) throw new Error(`${path} has no table with the head ${lineOf(head)}`);
  const end = lines.indexOf("", first);
  const table = [lineOf(head), `|${"---|".repeat(head.length)}`, ...rows.map(lineOf)];
  return [path, lines.toSpliced(first, end - first, ...table).join("\n")];
}

const lineOf = (cells: readonly string[]) => `| ${cells.join(" | ")} |`.replaceAll("|  |", "| |");
