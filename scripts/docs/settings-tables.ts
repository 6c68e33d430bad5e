import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROWS } from "../../src/settings/index.ts";
import { KEYS_OF_PI } from "../../src/settings/pi-table.ts";
import { ROOT } from "../process.ts";

/** The pages with a table of settings, with the table as it is now; the rest of a page is written by hand. */
export function settingsPages(): [path: string, text: string][] {
  return [
    pageWith("docs/configuration.md", ["key", "default", ""], ROWS.map(configurationRow)),
    pageWith("docs/pi/settings.md", ["key", "default", ""], piRows()),
  ];
}

function configurationRow([key, row]: (typeof ROWS)[number]): string[] {
  return [`\`${key}\``, String(row.default ?? "none"), `${row.docs}${exceptionOf(key, row)}`];
}

/** The keys of Pi; those that mean the same for the command are in one row. */
function piRows(): string[][] {
  const named = (keys: typeof KEYS_OF_PI) => keys.map(({ key }) => `\`${key}\``).join(", ");
  const own = KEYS_OF_PI.filter(({ docs }) => docs !== "");
  const shared = KEYS_OF_PI.filter(({ docs }) => docs === "");
  const rows = own.map(({ key, usual, docs }) => [`\`${key}\``, usual, docs]);
  return [...rows, [named(shared), "", "as in [configuration](../configuration.md#keys)"]];
}

/** The words on a key that a flag or variable does not set by the rule of the page. */
function exceptionOf(key: string, { flag, onlyInFiles }: (typeof ROWS)[number][1]): string {
  if (onlyInFiles) return "; in files only";
  if (!flag) return "; without a flag";
  return flag.name === undefined || flag.name === key.replaceAll("_", "-") ? "" : `; the flag is \`--${flag.name}\``;
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
