import type { Json } from "../../runtime/index.ts";
import { binarySearch } from "../platform/binary-search.ts";
import { jsonText } from "../platform/visible.ts";
import type { ToolEnvelope } from "./define.ts";

/**
 * Room for an answer in Pi (its `truncateHead`): bytes of UTF-8. The envelope is one line, so lines
 * do not matter.
 */
const MAX_BYTES = 51_200;
/** For the warning that says what was cut: at most so much, and a part of a small answer. */
const WARNING_BYTES = 1_000;
const WARNING_PART = 0.35;

/**
 * The envelope as it can be shown to a model. Fields that are too long are cut, and a warning says
 * so. A value that is not a text becomes the beginning of its JSON.
 *
 * @param rest a sentence: where the model finds the rest
 */
export function fitted(envelope: ToolEnvelope, rest: string, maxBytes = MAX_BYTES): ToolEnvelope {
  const whole = bytesOf(envelope);
  if (whole <= maxBytes) return envelope;
  const { warnings: given = [], ...others } = envelope;
  const warnings = (Array.isArray(given) ? given : [given]).slice(0, WARNINGS_KEPT);
  const shortened = warnings.map((warning) =>
    typeof warning === "string" ? warning.slice(0, WARNING_UNITS) : warning,
  );
  const sizes = Object.entries(others).map(([field, value]) => ({ field, value, bytes: bytesOf(value) }));
  const names = sizes.reduce((sum, { field }) => sum + bytesOf(field) + 2, 2);
  const most = shareOf(
    sizes.map(({ bytes }) => bytes),
    maxBytes - names - bytesOf({ warnings: shortened }) - Math.min(WARNING_BYTES, maxBytes * WARNING_PART),
  );
  const cut: string[] = [];
  const fields = sizes.map(({ field, value, bytes }): [string, Json] => {
    if (bytes <= most) return [field, value];
    const text = typeof value === "string" ? value : JSON.stringify(value);
    const shown = beginning(text, most);
    cut.push(`${field} shows ${shown.length} of ${text.length} characters`);
    return [field, shown];
  });
  const warning = `answer_cut: ${cut.join(", ")}. ${rest}`;
  // Each field stays in its place.
  return { ...envelope, ...Object.fromEntries(fields), warnings: [...shortened, warning] };
}

const WARNINGS_KEPT = 20;
const WARNING_UNITS = 200;

/**
 * The largest size that a field may have so that all of them fit: small ones leave their part to
 * the others.
 */
function shareOf(sizes: readonly number[], room: number): number {
  let left = room;
  const ascending = sizes.toSorted((one, other) => one - other);
  for (const [at, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - at));
    if (size > share) return share;
    left -= size;
  }
  return left;
}

/**
 * The longest beginning of a text that has at most so many bytes as JSON. A surrogate pair is not
 * split.
 */
export function beginning(text: string, maxBytes: number): string {
  const most = Math.min(text.length, maxBytes);
  const length = binarySearch(most, (at) => bytesOf(text.slice(0, at + 1)) > maxBytes);
  const isSplit = /[\ud800-\udbff]/.test(text.charAt(length - 1));
  return text.slice(0, isSplit ? length - 1 : length);
}

export function bytesOf(value: Json): number {
  return Buffer.byteLength(jsonText(value));
}

/** Adds warnings of the host to those of the tool. */
export function withWarnings(envelope: ToolEnvelope, added: readonly string[]): ToolEnvelope {
  if (added.length === 0) return envelope;
  const { warnings = [], ...others } = envelope;
  const own = Array.isArray(warnings) ? warnings : [warnings];
  return { ...others, success: envelope.success, warnings: [...added, ...own] };
}
