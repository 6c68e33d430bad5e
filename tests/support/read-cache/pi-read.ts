import type { ReadResult } from "../../../src/pi/read-cache/proof.ts";

/** What a call of `read` asks for. */
export interface Asked {
  readonly offset?: number;
  readonly limit?: number;
}

/** What Pi's `read` answers for a file, in its words, with a limit of lines of the caller's choice. */
export function piRead(file: string, asked: Asked, mostLines = 2_000): ReadResult {
  const all = file.split("\n");
  const first = asked.offset ? Math.max(0, asked.offset - 1) : 0;
  const end = asked.limit === undefined ? all.length : Math.min(first + asked.limit, all.length);
  const lines = all.slice(first, end);
  if (lines.length > mostLines) {
    const last = first + mostLines;
    const notice = `\n\n[Showing lines ${first + 1}-${last} of ${all.length}. Use offset=${last + 1} to continue.]`;
    const truncation = { truncated: true, truncatedBy: "lines", outputLines: mostLines, totalLines: lines.length };
    return { ...asked, text: lines.slice(0, mostLines).join("\n") + notice, truncation };
  }
  const rest = all.length - end;
  const notice = rest > 0 ? `\n\n[${rest} more lines in file. Use offset=${end + 1} to continue.]` : "";
  return { ...asked, text: lines.join("\n") + notice };
}
