import * as v from "valibot";
import type { Lines } from "./meta.ts";

/** The result that Pi is about to send of a file. */
export interface ReadResult {
  readonly text: string;
  /** Arguments of the call, as the model gave them. */
  readonly offset?: unknown;
  readonly limit?: unknown;
  /** Pi's note about a cut. */
  readonly truncation?: unknown;
}

/** Lines of a file that a text has been proven to be. */
export interface Shown extends Lines {
  /** The lines, without what Pi says behind them. */
  readonly body: string;
  /** Pi's words behind the lines, with the line ends before them; empty if there are none. */
  readonly notice: string;
}

/**
 * The lines of the file that the text is. Returns null if it cannot be shown: another reader's
 * format, or a file that has changed since. The lines are taken from what Pi says that it sent,
 * because versions of Pi cut at different places.
 */
export function prove({ text, offset, limit, truncation }: ReadResult, file: string): Shown | null {
  const asked = v.safeParse(AskedSchema, { offset, limit });
  const cut = v.safeParse(CutSchema, truncation);
  if (!asked.success || !cut.success) return null;
  const rest = cut.output?.truncated ? cut.output : null;
  if (rest?.firstLineExceedsLimit) return null;
  const all = file.split("\n");
  const total = all.length;
  const start = Math.max(1, asked.output.offset ?? 1);
  const end = rest ? start + rest.outputLines - 1 : Math.min(start + (asked.output.limit ?? total) - 1, total);
  if (end < start || end > total) return null;
  const body = all.slice(start - 1, end).join("\n");
  if (!text.startsWith(body)) return null;
  const notice = text.slice(body.length);
  return notice === "" || isNotice(notice, { start, end, total }) ? { start, end, total, body, notice } : null;
}

/** True if this is what Pi says behind lines that are not the file's last ones. */
function isNotice(notice: string, { start, end, total }: Lines): boolean {
  const next = `Use offset=${end + 1} to continue.]`;
  if (notice === `\n\n[${total - end} more lines in file. ${next}`) return true;
  const showing = `\n\n[Showing lines ${start}-${end} of ${total}`;
  return notice.startsWith(showing) && notice.endsWith(next) && LIMIT.test(notice.slice(showing.length, -next.length));
}

const LIMIT = /^(?: \(\d+(?:\.\d+)?[KM]?B limit\))?\. $/;

const whole = v.pipe(v.number(), v.safeInteger());
const AskedSchema = v.object({ offset: v.optional(whole), limit: v.optional(v.pipe(whole, v.minValue(1))) });

const CutSchema = v.optional(
  v.union([
    v.object({
      truncated: v.literal(true),
      outputLines: v.pipe(whole, v.minValue(1)),
      firstLineExceedsLimit: v.optional(v.boolean()),
    }),
    v.object({ truncated: v.literal(false) }),
  ]),
);
