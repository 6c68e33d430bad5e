import { expect, test } from "vitest";
import { durationOf, momentOf, numberFormat } from "../../../../src/documents/sheets/sheets.ts";

// The look of numbers of sheets by the codes of their formats.

const DATES = String.raw`
  yyyy-mm-dd;@
  m/d/yy
  [$-409]d\-mmm\-yy;@
  [$-F800]dddd\,\ mmmm\ dd\,\ yyyy
  yyyy"年"m"月"d"日"
  mmm
  ggge"年"m"月"
  e
  e-mm
  bbbb
  [ENG][$-411]e/mm
  d. mmmm yyyy
  dd.mm.yyyy\ hh:mm
  mm/yy
  ddd
  B2yyyy
  YYYY-MM-DD
  [$-10409]m/d/yyyy\ h:mm:ss\ AM/PM
  "Day "d
  [Red]dd/mm
  [=0]"";dd/mm/yyyy
  [DBNum1]yyyy
`;
const TIMES = String.raw`
  h:mm
  hh:mm:ss
  h:mm AM/PM
  mm:ss.0
  h"時"mm"分"
  [$-F400]h:mm:ss\ AM/PM
  ss.000
  h\.mm
  [<1]h:mm
  mm:ss
`;
const DURATIONS = `
  [h]:mm:ss
  [hh]:mm
  [mm]:ss
  [m]
  [ss].00
  [h]" h "mm
  [Red][h]:mm;[Blue]-[h]:mm
  [H]:MM
  [=0]0;[h]:mm
`;
const NUMBERS = String.raw`
  General
  GENERAL
  0
  0.00
  #,##0
  0%
  0.00E+00
  ##0.0E+0
  # ?/?
  # ??/100
  @
  ;;;
  General" days"
  0.00"d"
  "Day "0
  \d0
  [Red]#,##0
  [Blue]0.0;[Red]-0.0
  #,##0.00\ [$€-407]
  [$USD] 0.00
  _-* #,##0.00\ "Kč"_-
  _("$"* #,##0_);_("$"* \(#,##0\)
  0" [h]"
  "[h]"0
  \[h\]0
  0"ms
  [Color 5]0
  [>=100]0;0.0
  0.0 kg
  0 days
  00000
  [<=9999999]###\-####;(###) ###\-####
  0_d
  0*y
  "year"
  [$-409]0
  [$HK$-C04]#,##0
`;

test.each([
  ["date", DATES],
  ["time", TIMES],
  ["duration", DURATIONS],
  ["number", NUMBERS],
])("formats of a %s are known by their codes", (shows, codes) => {
  const listed = codes.trim().split(/\n */);
  expect(listed.filter((code) => numberFormat(164, code).shows !== shows)).toEqual([]);
});

test("formats without a code are those of the standard and of East Asian programs, unless the file defines them", () => {
  const shown = (...ids: readonly number[]) => [...new Set(ids.map((id) => numberFormat(id).shows))];
  expect(shown(0, 1, 4, 9, 11, 13, 37, 49, 59, 163, Number.NaN)).toEqual(["number"]);
  expect(shown(14, 15, 16, 17, 22, 27, 36, 50, 58)).toEqual(["date"]);
  expect(shown(18, 19, 20, 21, 45, 47)).toEqual(["time"]);
  expect(shown(46)).toEqual(["duration"]);
  expect(numberFormat(27, "0.00").shows).toBe("number");
  expect(numberFormat(46, "yyyy").shows).toBe("date");
});

/** Numbers and what they are shown as; `-` for what no program shows as a date. */
const MOMENTS: Readonly<Record<string, string>> = {
  "[h]:mm:ss": "0 00:00:00|0.25 06:00:00|1.5 36:00:00|100 2400:00:00|-1.5 -36:00:00|59.9999999 1440:00:00|1e9 -|x -",
  "[mm]:ss": "1.5 36:00:00",
  "[ss].00": "0.500002893518 12:00:00.25",
  "mm:ss.0": "0.000965972 00:01:23.5|0.99999999 00:00:00.0",
  "h:mm": "0 00:00:00|0.5 12:00:00|0.9999999 00:00:00|-0.25 -06:00:00|1 1900-01-01 00:00:00|-1.5 -",
  "yyyy-mm-dd": "0 1900-01-00|0.5 12:00:00|1 1900-01-01|59 1900-02-28|60 1900-02-29|61 1900-03-01|-1 -|-0.5 -",
  "d/m/yy h:mm":
    "60.5 1900-02-29 12:00:00|59.9999999 1900-02-29 00:00:00|45292 2024-01-01|45292.625 2024-01-01 15:00:00",
  "d/m/yy": "45292.9999999 2024-01-02 00:00:00|2958465 9999-12-31|2958466 -|2958465.9999999 -|1e300 -|Infinity -",
};

test.each(Object.entries(MOMENTS))("numbers that %s shows are rounded before they are split", (code, list) => {
  const given = list.split("|").map((one) => one.split(/ (.*)/));
  const format = numberFormat(164, code);
  const shown = given.map(([number]) => [number, momentOf(Number(number), format, false) ?? "-", ""]);
  expect(shown).toEqual(given);
});

test("a calendar that begins in 1904 begins with its first day", () => {
  const shown = [0, 1, 60, 43_830, 2_957_004].map((days) => momentOf(days, numberFormat(14), true));
  expect(shown).toEqual(["1904-01-01", "1904-01-02", "1904-03-01", "2024-01-01", null]);
});

test.each([
  ["PT36H00M00S", "36:00:00"],
  ["PT8H29M59.999999996S", "08:30:00"],
  ["P1DT1H", "25:00:00"],
  ["-PT0H30M", "-00:30:00"],
  ["PT0.25S", "00:00:00.250"],
  ["PT99999999999999H", null],
  ["P1M", null],
  ["36:00", null],
])("the ISO duration %s is %s", (iso, shown) => {
  expect(durationOf(iso)).toBe(shown);
});
