/** The sources of a context by their last names: `docs`, `docs +2`. */
export function sourcesOf([first = "", ...more]: readonly string[]): string {
  const name = first.split(/[/\\]/).findLast((part) => part !== "") ?? first;
  return more.length > 0 ? `${name} +${more.length}` : name;
}

/**
 * Text of a guest, model or file as a terminal may get it: control characters other than \n are escaped, and so are those that turn
 * the direction of writing, or end a line elsewhere. Tabs are spaces.
 */
export function harmless(text: string): string {
  return text
    .toWellFormed()
    .replaceAll("\t", "  ")
    .replace(HARMFUL, (character) => {
      if (character === "\r") return "\\r";
      const code = character.charCodeAt(0).toString(16);
      return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
    });
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const HARMFUL = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** The beginning of a text on one line. */
export function oneLine(text: string, units: number): string {
  // Of a long text only the beginning is looked at.
  const line = harmless(
    text
      .slice(0, units * LOOKED_AT)
      .trim()
      .replaceAll(/\s+/g, " "),
  );
  return line.length > units ? `${line.slice(0, units - 1)}…` : line;
}

const LOOKED_AT = 16;
