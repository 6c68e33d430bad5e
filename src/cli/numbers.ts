/** `1 file`, `1,234 files`. */
export function amount(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}

/** `45.2 MB` of so many bytes. */
export function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MB`;
}

/** `812 B`, `24.1 KB`, `45.2 MB`, `1.3 GB` of so many bytes. */
export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 2 ** 20) return `${(bytes / 1024).toFixed(1)} KB`;
  return bytes < 2 ** 30 ? megabytes(bytes) : `${(bytes / 2 ** 30).toFixed(1)} GB`;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** `now`, `42 s`, `3 min`, `5 h`, `12 d` of so many ms; a clock that was set back gives `now`. */
export function age(ms: number): string {
  if (ms < SECOND) return "now";
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  return ms < 2 * DAY ? `${Math.floor(ms / HOUR)} h` : `${Math.floor(ms / DAY)} d`;
}

const UNITS: Readonly<Record<string, number>> = { min: MINUTE, h: HOUR, d: DAY, w: 7 * DAY };

/** ms of `30d`, `12h`, `90min`, `2w`; undefined for anything else. */
export function ageFrom(text: string): number | undefined {
  const [, number, unit = ""] = /^(\d{1,6})\s*(min|h|d|w)$/.exec(text) ?? [];
  const ms = UNITS[unit];
  return number === undefined || ms === undefined ? undefined : Number(number) * ms;
}
