/** Codes that a terminal carries out: colours, places of the cursor, titles of its window. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these codes begin with it
const CODES = /\u001b(?:\[[0-?]{0,99}[ -/]{0,9}[@-~]|\][^\u0007\u001b]{0,999}(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
/** The code behind which a line is cleared, or written again from its beginning. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const REWRITTEN = /\u001b\[(?:2K|1?G)|\r(?=[^\n])/;

/** A text as a terminal shows it, without codes. A text without codes stays as it is. */
export function withoutCodes(text: string): string {
  if (!text.includes("\u001b")) return text;
  const lines = text.split("\n").map((line) => line.split(REWRITTEN).at(-1) ?? "");
  return lines.join("\n").replace(CODES, "").trim();
}
