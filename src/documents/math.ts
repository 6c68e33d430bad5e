import type { Attributes, Handlers } from "./markup.ts";

/**
 * The lines that elements of equations become. `{e}` is an argument of the element or a sign that
 * it gives itself; `^{e}` and `_{e}` are arguments in parentheses with the sign before them, if
 * they say something.
 */
const FORMS: Readonly<Record<string, string>> = {
  f: "({num}){type}({den})",
  sSup: "{e}^{sup}",
  sSub: "{e}_{sub}",
  sSubSup: "{e}_{sub}^{sup}",
  sPre: "_{sub}^{sup}{e}",
  rad: "^{deg}√({e})",
  d: "{begChr}{e}{endChr}",
  nary: "{chr}_{sub}^{sup}{e}",
  func: "{fName} {e}",
  limLow: "{e}_{lim}",
  limUpp: "{e}^{lim}",
  acc: "{e}{chr}",
  bar: "{e}{pos}",
  groupChr: "{e}{chr}",
  m: "{mr}",
  mr: "{e}",
  eqArr: "{e}",
  box: "{e}",
  borderBox: "{e}",
  phant: "{e}",
  // Arguments of elements that are not known here.
  oMath: "{e}",
};
const ARGUMENTS = ["e", "num", "den", "sup", "sub", "deg", "lim", "fName", "mr"];
const SIGNS = ["begChr", "endChr", "sepChr", "chr", "pos", "type"];
/**
 * The signs of elements that give themselves none. `sepChr` stands between arguments of one name.
 */
const USUAL: Readonly<Record<string, string>> = {
  "d begChr": "(",
  "d endChr": ")",
  "d sepChr": "|",
  "mr sepChr": " ",
  sepChr: "; ",
  "nary chr": "∫",
  "acc chr": "\u0302",
  "groupChr chr": "⏟",
  pos: "\u0332",
  type: "/",
};
/** The sign of a fraction that has no line, and so is none. */
const NO_LINE = "¦";
/** The signs for words that say how an element is drawn. */
const DRAWN: ReadonlyMap<string, string> = new Map([
  ["top", "\u0305"],
  ["bot", "\u0332"],
  ["bar", "/"],
  ["skw", "/"],
  ["lin", "/"],
  ["noBar", NO_LINE],
]);
/** The length of a sign, which is a character with its accents. */
const MOST_SIGN = 8;
/** Elements that go over several lines. */
const LARGE = ["m", "eqArr", "groupChr"];

/** An element that is open: its words, and its arguments and signs by their names. */
interface Part {
  words: string;
  readonly said: Map<string, string[]>;
}

/** Equations that become lines: {@link equations}. */
export interface Equations {
  readonly handlers: Handlers;
  /** Takes words of the equation that is open; false if none is. */
  take(words: string): boolean;
}

/** Replaces {@link equations}, whose handlers are many, in a text without any. */
export const NO_EQUATIONS: Equations = { handlers: {}, take: () => false };

/**
 * Makes each equation a line such as `c^(2)(1)/(2)`.
 *
 * @param lose told of one that does not fit: its signs stay
 */
export function equations(put: (line: string) => void, lose: () => void): Equations {
  const open: Part[] = [];
  let fits = true;
  const say = (name: string, words: string) => {
    const said = open.at(-1)?.said;
    if (!said?.get(name)?.push(words)) said?.set(name, [words]);
  };
  const end = (name: string) => {
    const { words = "", said = new Map() } = open.pop() ?? {};
    const line = words + lineOf(name, said);
    fits &&= !LARGE.includes(name) && said.get("type")?.[0] !== NO_LINE;
    const above = open.at(-1);
    if (ARGUMENTS.includes(name)) say(name, line);
    else if (above) above.words += line;
    if (above) return;
    put(line);
    if (!fits) lose();
    fits = true;
  };
  const handlers: Record<string, (attributes: Attributes) => void> = {};
  for (const name of [...Object.keys(FORMS), ...ARGUMENTS]) {
    handlers[`m:${name}`] = () => open.push({ words: "", said: new Map() });
    handlers[`/m:${name}`] = () => end(name);
  }
  for (const name of SIGNS) {
    handlers[`m:${name}`] = ({ "m:val": sign = "" }) => say(name, DRAWN.get(sign) ?? sign.slice(0, MOST_SIGN));
  }
  return {
    handlers,
    take(words) {
      const part = open.at(-1);
      if (part) part.words += words;
      return part !== undefined;
    },
  };
}

function lineOf(name: string, said: ReadonlyMap<string, readonly string[]>): string {
  const usual = (key: string) => USUAL[`${name} ${key}`] ?? USUAL[key] ?? "";
  const [between = usual("sepChr")] = said.get("sepChr") ?? [];
  const form = FORMS[name] ?? "";
  const line = form.replace(/([_^]?)\{(\w+)\}/g, (_, shift: string, key: string) => {
    const words = said.get(key)?.join(between) ?? usual(key);
    return shift === "" || words === "" ? words : `${shift}(${words})`;
  });
  // Such a sign says where the lines of several equations stand above each other.
  return name === "eqArr" ? line.replaceAll("&", "") : line;
}
