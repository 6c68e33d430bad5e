import { compileFind, find, textFromString } from "../../context/index.ts";
import { localTime } from "../../platform/figures.ts";

/** A limit of an agent's account. */
interface AccountLimit {
  /** When it ends, ms since the epoch; null: the agent does not say. */
  readonly retry_at: number | null;
  /** The same in words, in the local time; empty if it is not known. */
  readonly when: string;
}

/**
 * The limit in an agent's last words. null: it is not in them.
 *
 * @param pattern of the command, matched in time that grows with the words alone
 */
export async function limitIn(pattern: string, said: string, now: Date): Promise<AccountLimit | null> {
  const { matches } = find(textFromString(said), compileFind(pattern, "i"), 1);
  if (matches.length === 0) return null;
  const retry_at = endIn(said, now);
  return {
    retry_at,
    when: retry_at === null ? "" : `, and may be started again at ${localTime(retry_at, now.getTime())}`,
  };
}

/** The latest time that words name as the end of a limit, ms since the epoch; null: they name none. */
export function endIn(said: string, now: Date): number | null {
  const found = READERS.flatMap((read) => read(said, now)).filter((at) => isLikely(at, now));
  return found.length === 0 ? null : Math.max(...found);
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Limits of accounts end within some weeks. Other numbers are no times. */
function isLikely(at: number, now: Date): boolean {
  return Number.isFinite(at) && at > now.getTime() - MINUTE && at < now.getTime() + 45 * DAY;
}

type Reader = (said: string, now: Date) => number[];

/** `|1760000000`, in seconds or ms. */
const epochs: Reader = (said) =>
  Array.from(said.matchAll(/(?<!\d)(1[5-9]\d{8}|2\d{9})(\d{3})?(?!\d)/g), ([, seconds, ms = "0"]) => {
    return Number(seconds) * SECOND + Number(ms);
  });

/** `2026-03-01T10:00:00Z`; without a zone it is local. */
const isoTimes: Reader = (said) =>
  Array.from(
    said.matchAll(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?/g),
    ([text]) =>
      Date.parse(
        text
          .replace(" UTC", "Z")
          .replace(/^(\S{10}) /, "$1T")
          .replace(" ", ""),
      ),
  );

const UNITS: readonly (readonly [words: RegExp, ms: number])[] = [
  [/^(?:s|secs?|seconds?|)$/, SECOND],
  [/^(?:m|mins?|minutes?)$/, MINUTE],
  [/^(?:h|hrs?|hours?)$/, HOUR],
  [/^(?:d|days?)$/, DAY],
  [/^(?:w|weeks?)$/, 7 * DAY],
];

/** `try again in 1 hour 20 minutes`, `retry after 30s`, `retry-after: 120`, `resets in 2d3h`. */
const durations: Reader = (said, now) =>
  Array.from(said.matchAll(AFTER)).flatMap(({ index, 0: words }) => {
    const ms = durationIn(said.slice(index + words.length, index + words.length + 80));
    return ms === null ? [] : [now.getTime() + ms];
  });

const AFTER =
  /\b(?:again|resets?|available|retry(?:ing)?|wait) (?:in|after|for) ~?|\bretry[-_]after["']?[:=]? ?|\bwait (?=\d)/gi;

/** The duration that a text begins with, ms; null: it begins with none. */
function durationIn(text: string): number | null {
  const part = /(?:, |,| and | )?(\d{1,6}(?:\.\d{1,6})?)(?![\d:]) ?([a-z]*)/iy;
  let sum: number | null = null;
  for (let found = part.exec(text); found; found = part.exec(text)) {
    const [, count, word = ""] = found;
    const unit = UNITS.find(([words]) => words.test(word.toLowerCase()));
    // A figure without a unit is a number of seconds only by itself.
    if (!unit || (word === "" && sum !== null)) break;
    sum = (sum ?? 0) + Number(count) * unit[1];
  }
  return sum;
}

/** `resets 3pm`, `resets at 15:30 (Europe/Berlin)`, `resets Oct 9 at 5pm`, `try again at 3:05 PM`. */
const clockTimes: Reader = (said, now) =>
  Array.from(said.matchAll(BEFORE_CLOCK)).flatMap(({ index, 0: words }) => {
    const at = clockIn(said.slice(index + words.length, index + words.length + 80), now);
    return at === null ? [] : [at];
  });

const BEFORE_CLOCK = /\b(?:resets?|again|available|until|try) (?:(?:on|at|after) )?/gi;
const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
const DAY_OF_YEAR = /^([a-z]{3})[a-z]{0,6} (\d{1,2})(?:st|nd|rd|th)?,? (?:\d{4},? )?(?:at )?/i;
const CLOCK = /^(\d{1,2})(?::(\d\d))? ?(?:([ap])\.?m\b\.?|(?<=:\d\d)(?!\d))/i;
const ZONE = /^ ?\(?([A-Z][A-Za-z_]{1,40}\/[\w/+-]{1,40}|UTC|GMT)\)?/;

/** The next moment of the date and the time that a text begins with; null: it begins with none. */
function clockIn(text: string, now: Date): number | null {
  const [date = "", name = "", day = "0"] = DAY_OF_YEAR.exec(text) ?? [];
  const month = MONTHS.indexOf(name.toLowerCase());
  if (date !== "" && month < 0) return null;
  const rest = text.slice(date.length);
  const [clock, hour, minute = "0", half = ""] = CLOCK.exec(rest) ?? [];
  if (clock === undefined) return null;
  const hours = (Number(hour) % (half === "" ? 24 : 12)) + (half.toLowerCase() === "p" ? 12 : 0);
  const zone = ZONE.exec(rest.slice(clock.length))?.[1];
  const at = { month: month < 0 ? null : month, day: Number(day), hours, minutes: Number(minute) };
  return timeAt(at, zone, now);
}

interface ClockTime {
  /** From 0; null: any day. */
  readonly month: number | null;
  readonly day: number;
  readonly hours: number;
  readonly minutes: number;
}

/** The next moment at which a clock shows this time, in a zone or else in the local one. */
function timeAt({ month, day, hours, minutes }: ClockTime, zone: string | undefined, now: Date): number {
  const here = wallTime(now.getTime(), zone);
  if (here === null) return Number.NaN;
  const at = new Date(here);
  at.setUTCHours(hours, minutes, 0, 0);
  if (month !== null) at.setUTCMonth(month, day);
  // One at a past date is of the next year, one at a past hour of the next day.
  if (at.getTime() <= here && month !== null) at.setUTCFullYear(at.getUTCFullYear() + 1);
  else if (at.getTime() <= here) at.setUTCDate(at.getUTCDate() + 1);
  // Twice: the clock may change between the two times.
  let moment = now.getTime() + (at.getTime() - here);
  moment += at.getTime() - (wallTime(moment, zone) ?? at.getTime());
  return moment;
}

/** The date and the time that a clock shows, as if they were UTC; null: the zone is not known. */
function wallTime(at: number, timeZone: string | undefined): number | null {
  try {
    const options = { timeZone, hourCycle: "h23", dateStyle: "short", timeStyle: "medium" } as const;
    const text = new Intl.DateTimeFormat("sv-SE", options).format(at);
    return Date.parse(`${text.replace(" ", "T")}Z`);
  } catch {
    return null;
  }
}

const READERS: readonly Reader[] = [epochs, isoTimes, durations, clockTimes];
