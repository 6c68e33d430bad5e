/** The sources of a context by their last names: `docs`, `docs +2`. */
export function sourcesOf([first = "", ...more]: readonly string[]): string {
  const name = first.split(/[/\\]/).findLast((part) => part !== "") ?? first;
  return more.length > 0 ? `${name} +${more.length}` : name;
}

/** Text of a guest or model as a terminal may get it: control characters other than \n are escaped, tabs are spaces. */
export function harmless(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replaceAll("\t", "  ").replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, (character) => {
    return character === "\r" ? "\\r" : `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
}

/** The beginning of a text on one line. */
export function oneLine(text: string, units: number): string {
  const line = harmless(text.trim().replaceAll(/\s+/g, " "));
  return line.length > units ? `${line.slice(0, units - 1)}…` : line;
}
