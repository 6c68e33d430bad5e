/** `1 match`, `1,234 matches`: the noun, and its plural where it is not made with an s. */
export function amount(count: number, noun: string, plural = `${noun}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? noun : plural}`;
}

/** `48k` of 48,123: as many digits as one can take in at a glance. */
export function compact(count: number): string {
  if (count < 1000) return String(count);
  if (count < 9950) return `${(count / 1000).toFixed(1)}k`;
  return count < 999_500 ? `${Math.round(count / 1000)}k` : `${(count / 1e6).toFixed(1)}M`;
}

/** `$0.021`: USD to two digits or more, as far as a hundredth of a cent. */
export function dollars(usd: number): string {
  if (usd > 0 && usd < 0.0001) return "<$0.0001";
  return `$${usd.toFixed(usd < 0.01 ? 4 : usd < 1 ? 3 : 2)}`;
}

/** The price of something, or nothing where no price is known. */
export function priced(usd: number): string[] {
  return usd > 0 ? [dollars(usd)] : [];
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `40 ms`, `1.2 s`, `14 s`, `2 min 05 s` of so many ms. */
export function duration(ms: number): string {
  if (ms < 100) return `${Math.round(ms)} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}

/** `14 s`, `2 min 05 s`: of something that goes on, so that its digits do not flicker. */
export function elapsed(ms: number): string {
  const whole = Math.max(0, Math.floor(ms / 1000)) * 1000;
  return whole < 10_000 ? `${whole / 1000} s` : duration(whole);
}

/** `now`, `42 s ago`, `3 min ago`, `5 h ago`, `12 d ago`. */
export function ago(ms: number): string {
  if (ms < 1000) return "now";
  if (ms < MINUTE) return `${Math.floor(ms / 1000)} s ago`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ago`;
  return ms < 2 * DAY ? `${Math.floor(ms / HOUR)} h ago` : `${Math.floor(ms / DAY)} d ago`;
}

/** `812 B`, `24.1 KB`, `45.2 MB` of so many bytes. */
export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 2 ** 20 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / 2 ** 20).toFixed(1)} MB`;
}

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
