import type { Attributes } from "./markup.ts";
import type { Handlers } from "./xml.ts";

/** An element of an equation that is open. */
interface Part {
  readonly name: string;
  words: string;
  /** The lines of its arguments, by their names. */
  readonly lines: Map<string, string[]>;
  /** The signs that it gives itself, such as its fences. */
  readonly signs: Map<string, string>;
}

/** A part that is complete. */
interface Whole {
  /** Its arguments of a name. */
  all(name: string): readonly string[];
  /** Its argument of a name; empty if it has none. */
  one(name: string): string;
  sign(name: string, otherwise: string): string;
}

const raised = (words: string) => (words === "" ? "" : `^(${words})`);
const lowered = (words: string) => (words === "" ? "" : `_(${words})`);
const marked = (words: string, mark: string) => `${[...words].length === 1 ? words : `(${words})`}${mark}`;

/** The lines that elements of equations become. */
const FORMS: Readonly<Record<string, (part: Whole) => string>> = {
  "m:f": ({ one, sign }) => `(${one("m:num")})${sign("m:type", "") === "noBar" ? "¦" : "/"}(${one("m:den")})`,
  "m:sSup": ({ one }) => one("m:e") + raised(one("m:sup")),
  "m:sSub": ({ one }) => one("m:e") + lowered(one("m:sub")),
  "m:sSubSup": ({ one }) => one("m:e") + lowered(one("m:sub")) + raised(one("m:sup")),
  "m:sPre": ({ one }) => lowered(one("m:sub")) + raised(one("m:sup")) + one("m:e"),
  "m:rad": ({ one }) => `${one("m:deg") && `(${one("m:deg")})`}√(${one("m:e")})`,
  "m:d": ({ all, sign }) => sign("m:begChr", "(") + all("m:e").join(sign("m:sepChr", "|")) + sign("m:endChr", ")"),
  "m:nary": ({ one, sign }) => sign("m:chr", "∫") + lowered(one("m:sub")) + raised(one("m:sup")) + one("m:e"),
  "m:func": ({ one }) => `${one("m:fName")} ${one("m:e")}`,
  "m:limLow": ({ one }) => one("m:e") + lowered(one("m:lim")),
  "m:limUpp": ({ one }) => one("m:e") + raised(one("m:lim")),
  "m:acc": ({ one, sign }) => marked(one("m:e"), sign("m:chr", "\u0302")),
  "m:bar": ({ one, sign }) => marked(one("m:e"), sign("m:pos", "bot") === "top" ? "\u0305" : "\u0332"),
  "m:groupChr": ({ one, sign }) => marked(one("m:e"), sign("m:chr", "⏟")),
  "m:m": ({ all }) => all("m:mr").join("; "),
  "m:mr": ({ all }) => all("m:e").join(" "),
  "m:eqArr": ({ all }) => all("m:e").join("; ").replaceAll("&", ""),
};
const ARGUMENTS = ["m:e", "m:num", "m:den", "m:sup", "m:sub", "m:deg", "m:lim", "m:fName", "m:mr"];
const SIGNS = ["m:begChr", "m:endChr", "m:sepChr", "m:chr", "m:pos", "m:type"];
/** Elements that go over several lines. */
const LARGE = ["m:m", "m:eqArr", "m:groupChr"];
const EQUATION = "m:oMath";

/** Equations that become lines: {@link equations}. */
export interface Equations {
  readonly handlers: Handlers;
  /** Takes words of the equation that is open; false if none is. */
  take(words: string): boolean;
}

/** Makes each equation a line such as `c^(2)(1)/(2)`. @param lose told of one that does not fit: its signs stay */
export function equations(put: (line: string) => void, lose: () => void): Equations {
  const open: Part[] = [];
  let fits = true;
  const begin = (name: string) => () => open.push({ name, words: "", lines: new Map(), signs: new Map() });
  const end = (name: string) => () => {
    const part = open.pop();
    if (!part) return;
    fits &&= !LARGE.includes(name) && part.signs.get("m:type") !== "noBar";
    const line = part.words + (FORMS[name]?.(whole(part)) ?? "");
    const above = open.at(-1);
    if (!above) put(line);
    else if (!ARGUMENTS.includes(name)) above.words += line;
    else if (!above.lines.get(name)?.push(line)) above.lines.set(name, [line]);
    if (above) return;
    if (!fits) lose();
    fits = true;
  };
  const parts = new Set([EQUATION, ...Object.keys(FORMS), ...ARGUMENTS]);
  const handlers = [...parts].flatMap((name) => [[name, begin(name)] as const, [`/${name}`, end(name)] as const]);
  const sign = (name: string) => (said: Attributes) => open.at(-1)?.signs.set(name, said["m:val"] ?? "");
  return {
    handlers: Object.fromEntries([...handlers, ...SIGNS.map((name) => [name, sign(name)] as const)]),
    take(words) {
      const part = open.at(-1);
      if (part) part.words += words;
      return part !== undefined;
    },
  };
}

function whole({ lines, signs }: Part): Whole {
  const all = (name: string) => lines.get(name) ?? [];
  return { all, one: (name) => all(name).join(""), sign: (name, otherwise) => signs.get(name) ?? otherwise };
}
