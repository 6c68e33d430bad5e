// Numbers of sheets that stand for dates, times of day and durations, and the formats that show them so.

/** The form in which a format shows numbers. */
export interface NumberFormat {
  readonly shows: "number" | "date" | "time" | "duration";
  /** The number of digits behind a second. */
  readonly digits: number;
}

/** Programs take no longer codes. */
const MOST_CODE = 255;

const PLAIN: NumberFormat = { shows: "number", digits: 0 };

/** The format of an id. @param code undefined if the file does not define this format */
export function numberFormat(id: number, code = builtIn(id)): NumberFormat {
  // Quoted words, escapes, padding, colors, conditions, currencies and languages.
  const words = /"[^"]*"?|\\.|[_*].|\[(?!(?:h+|m+|s+)\])[^\]]*\]|general|(?<=[0#?])E[+-]/gis;
  const sections = code.slice(0, MOST_CODE).replace(words, "").split(";").map(shownBy);
  return sections.find(({ shows }) => shows !== "number") ?? PLAIN;
}

function shownBy(section: string): NumberFormat {
  const digits = Math.min(/s\]?\.(0*)/i.exec(section)?.[1]?.length ?? 0, 3);
  const has = (letters: RegExp) => letters.test(section);
  // Units such as `0.0 kg` need no quotes everywhere.
  if (/[0#?]/.test(section.replace(/[.,]0+/g, ""))) return PLAIN;
  if (has(/\[[hms]+\]/i)) return { shows: "duration", digits };
  // Years of eras are `e`, `g` and `b`, and `m` is a month unless it stands beside hours or seconds.
  if (has(/[ydegb]/i) || (has(/m/i) && !has(/[hs]/i))) return { shows: "date", digits };
  return has(/[hs]/i) ? { shows: "time", digits } : PLAIN;
}

/** The code of a format that has none in its file (ECMA-376, 18.8.30), also in East Asian programs. */
function builtIn(id: number): string {
  if (id === 46) return "[h]:mm:ss";
  if (id === 47) return "mm:ss.0";
  if (id === 45 || (id >= 18 && id <= 21)) return "h:mm:ss";
  return (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 50 && id <= 58) ? "yyyy-mm-dd" : "";
}

const DAY = 86_400;
/** Days from the beginning of a workbook's calendar to 1970, and to the end of the year 9999. */
const TO_1970 = 25_569;
const FROM_1900_TO_1904 = 1462;
const TO_10000 = 2_958_466;

/** A date, a time, or both with a space between them, of days since the calendar of a workbook began; null: a program would not show them. */
export function momentOf(days: number, { shows, digits }: NumberFormat, is1904: boolean): string | null {
  const unit = 10 ** digits;
  const seconds = Math.round(days * DAY * unit) / unit;
  const offset = is1904 ? FROM_1900_TO_1904 : 0;
  if (!(Math.abs(seconds) / DAY + offset < TO_10000)) return null;
  if (shows === "duration") return clockOf(seconds, digits);
  const time = clockOf(seconds % DAY, digits);
  if ((days > 0 && days < 1) || (shows === "time" && Math.abs(days) < 1)) return time;
  if (days < 0) return null;
  const day = Math.floor(seconds / DAY);
  const date = is1904 ? isoOf(day + offset) : dateOf1900(day);
  return shows === "date" && Number.isInteger(days) ? date : `${date} ${time}`;
}

/** A day of Excel's calendar, in which the year 1900 has a 29th of February and begins with a day 0. */
function dateOf1900(day: number): string {
  if (day === 0 || day === 60) return day === 0 ? "1900-01-00" : "1900-02-29";
  return isoOf(day < 60 ? day + 1 : day);
}

const isoOf = (day: number) => new Date((day - TO_1970) * DAY * 1000).toISOString().slice(0, 10);

/** `36:00:00` of seconds, whatever the number of hours. */
function clockOf(seconds: number, digits: number): string {
  const all = Math.abs(seconds);
  const two = (part: number) => String(Math.trunc(part)).padStart(2, "0");
  const fraction = (all % 1).toFixed(digits).slice(1);
  return `${seconds < 0 ? "-" : ""}${two(all / 3600)}:${two((all / 60) % 60)}:${two(all % 60)}${fraction}`;
}

/** The same of an ISO duration such as `PT36H`; null: it has years or months, or is none. */
export function durationOf(iso: string): string | null {
  const found = /^(-)?P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/.exec(iso);
  if (!found) return null;
  const [days = 0, hours = 0, minutes = 0, rest = 0] = found.slice(2).map((part) => Number(part ?? 0));
  const ms = Math.round((days * DAY + hours * 3600 + minutes * 60 + rest) * 1000);
  if (ms >= TO_10000 * DAY * 1000) return null;
  return clockOf((found[1] ? -ms : ms) / 1000, ms % 1000 === 0 ? 0 : 3);
}
