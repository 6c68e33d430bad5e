// Texts of guests, models, files and rows may hold characters that steer a terminal, turn the direction of writing or hide
// words. Wherever a person reads such a text, it passes through here.

/**
 * The text with each such character as its code point: `\x1b`, `\u202e`, `\u{e0041}`. `\n` and `\t` stay. Joiners and
 * variation selectors stay where writing needs them: in emoji, and between letters of scripts that join.
 */
export function visible(text: string): string {
  return text.replaceAll(HIDDEN, (found, hidden?: string) => (hidden === undefined ? found : codePoint(hidden)));
}

/** A name or another text as one line shows it: a line feed in it is `\n`, since it could pass for several lines. */
export function inLine(text: string): string {
  return visible(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
}

/** A text of at most so many UTF-16 units; one that is longer ends with `…` behind them. */
export function cutText(text: string, units: number): string {
  return text.length > units ? `${text.slice(0, units).toWellFormed()}…` : text;
}

/** A place that an answer rests on, as one line shows it: `report.pdf p.12`, and in a text `a.txt:14`. */
export function citedPlace({ doc, line, place }: Cited): string {
  const document = inLine(doc ?? "P");
  return place === null ? `${document}:${line ?? 1}` : `${document} ${inLine(place)}`;
}

interface Cited {
  readonly doc: string | null;
  readonly line: number | null;
  readonly place: string | null;
}

/** The value as JSON, in which such characters are escapes. */
export function jsonText(value: unknown): string {
  return escapedJson(JSON.stringify(value));
}

/** JSON with such characters as escapes; what it stands for stays the same. */
export function escapedJson(json: string): string {
  return json.replaceAll(HIDDEN, (found, hidden?: string) => (hidden === undefined ? found : escapes(hidden)));
}

/** Control characters, parts of pairs, ends of lines of other kinds, and what Unicode says is not drawn. */
const HOSTILE = "(?![\\n\\t])[\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\ufff9-\\ufffb]";
const JOINING =
  "[\\p{sc=Arab}\\p{sc=Syrc}\\p{sc=Deva}\\p{sc=Beng}\\p{sc=Guru}\\p{sc=Gujr}\\p{sc=Orya}\\p{sc=Taml}\\p{sc=Telu}\\p{sc=Knda}\\p{sc=Mlym}\\p{sc=Sinh}]";
const NEEDED = [
  `[\\u200c\\u200d](?<=${JOINING}.)(?=${JOINING})`,
  "\\u200d(?<=[\\p{ExtPict}\\p{EMod}\\ufe0f].)(?=\\p{ExtPict})",
  "[\\ufe00-\\ufe0f](?<=[\\p{Emoji}\\p{S}\\p{sc=Han}].)",
  "[\\u{e0100}-\\u{e01ef}](?<=\\p{sc=Han}.)",
];
const HIDDEN = new RegExp(`${NEEDED.join("|")}|(${HOSTILE})`, "gu");

function codePoint(character: string): string {
  if (character === "\r") return "\\r";
  const code = (character.codePointAt(0) ?? 0).toString(16);
  if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
  return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\u{${code}}`;
}

/** An escape for each UTF-16 unit, as JSON has them. */
function escapes(character: string): string {
  return character.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
