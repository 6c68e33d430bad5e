import type { RlmError } from "../../index.ts";
import { visible } from "../../platform/visible.ts";
import type { Output } from "../render/terminal.ts";
import type { OutPlace } from "./out-place.ts";
import { openResultFile } from "./result-file.ts";
import { openResultLines, type ResultsAsked } from "./result-lines.ts";
import { tableLines } from "./result-table.ts";
import { openTableFile } from "./table-file.ts";

/** Where the results of a run are written while it goes on. */
export interface Results {
  /** Writes the lines of jobs that have ended since. */
  follow(): Promise<void>;
  /** What keeps the file from being whole; null: nothing. */
  readonly problem: RlmError | null;
  close(): Promise<void>;
}

/** @throws RlmError `output_failed` */
export async function openResults(out: OutPlace, asked: ResultsAsked, stdout: Output): Promise<Results> {
  switch (out.kind) {
    case "none":
      return { follow: async () => {}, problem: null, close: async () => {} };
    case "file":
      return out.format === "csv" ? openTableFile(out.path, asked) : openResultFile(out.path, asked);
    case "stdout":
      return out.format === "csv" ? printedTable(asked, stdout) : printed(asked, stdout);
  }
}

function printedTable(asked: ResultsAsked, stdout: Output): Results {
  return {
    follow: async () => {},
    problem: null,
    async close() {
      for await (const line of tableLines(asked)) stdout.writeRaw(stdout.isTerminal ? visible(line) : line);
    },
  };
}

async function printed(asked: ResultsAsked, stdout: Output): Promise<Results> {
  const lines = openResultLines(asked);
  let before = Promise.resolve();
  const print = async () => {
    for await (const line of lines.next()) stdout.writeRaw(line);
  };
  const follow = () => {
    before = before.then(print);
    return before;
  };
  await follow();
  return { follow, problem: null, close: () => before };
}
