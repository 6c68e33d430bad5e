import { statSync } from "node:fs";
import { extname } from "node:path";
import { commandLine, UsageError } from "../flags/usage.ts";

export const FORMATS = ["jsonl", "csv"] as const;

/** The form of results: a line of JSON for each, or one table. */
export type Format = (typeof FORMATS)[number];

const ENDINGS: Readonly<Record<string, Format>> = { ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv" };

/** The format that was named, else that of the file's ending. @param typed `-`: stdout @throws UsageError */
export function formatOf(typed: string, named: Format | undefined, command: string): Format {
  if (named !== undefined) return named;
  const found = typed === "-" ? "jsonl" : ENDINGS[extname(typed).toLowerCase()];
  if (found) return found;
  // A device or a pipe has no ending.
  const target = statSync(typed, { throwIfNoEntry: false });
  if (target && !target.isFile() && !target.isDirectory()) return "jsonl";
  throw new UsageError(
    `--out ${typed}: results are .jsonl (a line of JSON for each) or .csv (a table); --format csv or --format jsonl says which`,
    commandLine(["help", command]),
  );
}
