// How figures are told to people: by the command and in Pi.

/** `1 match`, `1,234 matches`: the noun, and its plural if that is not made with an s. */
export function amount(count: number, noun: string, plural = `${noun}s`): string {
  return `${thousands(count)} ${count === 1 ? noun : plural}`;
}

/** `1,234` of a whole number. */
export function thousands(count: number): string {
  // Without toLocaleString, whose first use in a process takes 8 to 20 ms.
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ",");
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

/** The price of something, or nothing if no price is known. */
export function priced(usd: number): string[] {
  return usd > 0 ? [dollars(usd)] : [];
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

/** `40 ms`, `1.2 s`, `14 s`, `2 min 05 s` of so many ms. */
export function duration(ms: number): string {
  if (ms < 100) return `${Math.round(ms)} ms`;
  if (ms < 9950) return `${(ms / SECOND).toFixed(1)} s`;
  const seconds = Math.round(ms / SECOND);
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}

/** `14 s`, `2 min 05 s`: of something that continues, so that its digits do not flicker. */
export function elapsed(ms: number): string {
  const whole = Math.max(0, Math.floor(ms / SECOND)) * SECOND;
  return whole < 10_000 ? `${whole / SECOND} s` : duration(whole);
}

/** `40 s`, `4 min`, `1.5 h` of so many ms: no more digits than an estimate has. */
export function roughly(ms: number): string {
  const seconds = 10 * Math.max(1, Math.ceil(ms / 10_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = ms / MINUTE;
  return minutes < 90 ? `${Math.max(1, Math.round(minutes))} min` : `${(minutes / 60).toFixed(1)} h`;
}

/** `███████░░░`: the share of all that is done. */
export function bar(done: number, all: number): string {
  const filled = all === 0 ? 0 : Math.floor((done / all) * BAR_UNITS);
  return "█".repeat(filled) + "░".repeat(BAR_UNITS - filled);
}

const BAR_UNITS = 10;

/** `now`, `42 s`, `3 min`, `5 h`, `12 d` of so many ms; a clock that was set back gives `now`. */
export function age(ms: number): string {
  if (ms < SECOND) return "now";
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  return ms < 2 * DAY ? `${Math.floor(ms / HOUR)} h` : `${Math.floor(ms / DAY)} d`;
}

/** `now`, `42 s ago`. */
export function ago(ms: number): string {
  const text = age(ms);
  return text === "now" ? text : `${text} ago`;
}

const UNITS: Readonly<Record<string, number>> = { min: MINUTE, h: HOUR, d: DAY, w: 7 * DAY };

/** ms of `30d`, `12h`, `90min`, `2w`; undefined for anything else. */
export function ageFrom(text: string): number | undefined {
  const [, number, unit = ""] = /^(\d{1,6})\s*(min|h|d|w)$/.exec(text) ?? [];
  const ms = UNITS[unit];
  return number === undefined || ms === undefined ? undefined : Number(number) * ms;
}

/** `15:04`, or `2026-03-04 15:04` of another day than now: a time for people, in the local zone. */
export function localTime(at: number, now: number): string {
  const time = new Date(at);
  const clock = time.toTimeString().slice(0, 5);
  const isToday = time.toDateString() === new Date(now).toDateString();
  return isToday ? clock : `${time.toLocaleDateString("en-CA")} ${clock}`;
}
