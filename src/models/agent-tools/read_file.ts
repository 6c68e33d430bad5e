import { placeOf, textOf } from "./allowed-paths.ts";
import { count, fitting, linesOf, MAX_BYTES, type ReadTool, refused, size, text, withNotes } from "./tool.ts";

const CURE = "Read another file or part.";

/**
 * Bounds of one tool answer: those of Pi's read, find and grep (pi-coding-agent 0.73.1,
 * core/tools/truncate).
 */
const MAX_LINES = 2000;

/** `read_file`: lines of a text file, with the parameters and bounds of Pi's `read`. */
export const readFile: ReadTool = {
  name: "read_file",
  aliases: ["read"],
  description: `Read a text file. The answer is cut to ${MAX_LINES} lines or ${MAX_BYTES / 1024}KB, whichever comes first; use offset and limit to read on.`,
  params: {
    path: text("Path of the file, relative or absolute"),
    offset: count("Line number to start reading from (1-indexed)", 0),
    limit: count("Maximum number of lines to read", 1),
  },
  required: ["path"],
  async run(readable, args, signal) {
    const path = args.text("path") ?? "";
    const first = Math.max(1, args.count("offset") ?? 1);
    const place = placeOf(readable, path);
    if (place.isFolder) throw refused(`${path} is a folder: list it with list_dir`, CURE);
    const content = await textOf(readable, place.path, signal);
    if ("reason" in content) throw refused(`${path} cannot be read: ${content.reason}`, CURE);
    return { text: pageOf(content.text, first, Math.min(args.count("limit") ?? MAX_LINES, MAX_LINES)) };
  },
};

function pageOf(content: string, first: number, count: number): string {
  const page: string[] = [];
  let total = 0;
  for (const { number, start, end } of linesOf(content)) {
    total = number;
    if (number >= first && number < first + count) page.push(content.slice(start, end));
  }
  if (total === 0) return "[The file is empty]";
  if (first > total) throw refused(`offset ${first} is beyond the end of the file (${total} lines)`, CURE);
  const { shown, cut } = fitting(page);
  const last = first + shown.length - 1;
  if (shown.length === 0) {
    const bytes = size(Buffer.byteLength(page[0] ?? ""));
    const more = first < total ? `; offset=${first + 1} continues after it` : "";
    return `[Line ${first} has ${bytes}, more than ${size(MAX_BYTES)}: grep shows the text around a match${more}]`;
  }
  if (last === total) return shown.join("\n");
  const why = cut ? ` (${size(MAX_BYTES)} limit)` : "";
  return withNotes(shown.join("\n"), [
    `Showing lines ${first}-${last} of ${total}${why}`,
    `Use offset=${last + 1} to continue`,
  ]);
}
