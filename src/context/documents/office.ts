import { posix } from "node:path";
import type { Parts } from "./archives.ts";
import { encrypted, type Growing } from "./growing.ts";
import { extensionOf } from "./kinds.ts";
import { BULLET } from "./labels.ts";
import { type Handlers, type openXml, walkXml } from "./xml.ts";

/** Names of parts that are not text, in files of office suites. */
const SILENT: readonly (readonly [RegExp, string])[] = [
  [/(^|\/)(media|Pictures)\/./, "image"],
  [/(^|\/)charts\/chart[^/]*\.xml$/, "chart"],
  [/(^|\/)embeddings\/.|^Object \d+\/content\.xml$/, "embedded object"],
  [/(^|\/)vbaProject\.bin$|^Basic\/.*\.xml$/i, "macro"],
  [/^(xl|ppt)\/(threadedComments|comments)/, "part with comments"],
  [/\/diagrams\/data[^/]*\.xml$/, "diagram"],
];

/** Counts the parts that give no text. */
export function loseSilent({ names }: Parts, text: Growing): void {
  for (const name of names) {
    const kind = SILENT.find(([pattern]) => pattern.test(name))?.[1];
    if (kind !== undefined) text.lose(kind);
  }
}

/** A part that another one refers to. */
export interface Relation {
  /** The last name in the address of its type, such as `styles`. */
  readonly type: string;
  readonly target: string;
}

/** The parts that a part refers to, by their ids. Those outside of the file are left out. @param of "" for the file itself */
export function relationsOf(parts: Parts, of: string): Map<string, Relation> {
  const found = new Map<string, Relation>();
  const { dir, base } = posix.parse(of);
  walkXml(parts.text(posix.join(dir, `_rels/${base}.rels`)), {
    Relationship({ Id = "", Type = "", Target = "", TargetMode }) {
      if (TargetMode === "External") return;
      const given = Target.replaceAll("\\", "/");
      const target = given.startsWith("/") ? posix.normalize(given.slice(1)) : posix.join(dir, given);
      found.set(Id, { type: posix.basename(Type), target: parts.nameOf(target) });
    },
  });
  return found;
}

/** The part with which a file begins. @param usual its name where the file does not say */
export function mainOf(parts: Parts, usual: string): string {
  const main = [...relationsOf(parts, "").values()].find(({ type }) => type === "officeDocument");
  return main && parts.names.has(main.target) ? main.target : parts.nameOf(usual);
}

/** Content types of parts by their names. */
export function contentTypes(parts: Parts): (name: string) => string {
  const byName = new Map<string, string>();
  const byExtension = new Map<string, string>();
  walkXml(parts.text("[Content_Types].xml"), {
    Override: ({ PartName = "", ContentType = "" }) => byName.set(parts.nameOf(PartName.slice(1)), ContentType),
    Default: ({ Extension = "", ContentType = "" }) => byExtension.set(Extension.toLowerCase(), ContentType),
  });
  return (name) => byName.get(name) ?? byExtension.get(extensionOf(name)) ?? "";
}

/** The part of a type that another one refers to, or else the one that has the usual name. */
export function relatedPart(parts: Parts, of: string, type: string): string {
  const related = [...relationsOf(parts, of).values()].find((part) => part.type === type);
  return related?.target ?? posix.join(posix.dirname(of), `${type}.xml`);
}

/** The kind of a paragraph: a heading of some level, an item of a list with its label and level, or neither. */
interface BlockKind {
  /** 0 if it is no heading. */
  readonly heading?: number;
  /** As it is printed: `1.2`, `(a)`, or the sign of a bullet. */
  readonly label?: string;
  /** The level of an item. The first is 0. */
  readonly level?: number;
}

const MOST_INDENT = 8;

/** Writes a paragraph, or puts it into the cell that is open. */
export function block(text: Growing, table: Table, said: string, kind: BlockKind): void {
  const { heading = 0, label = "", level = 0 } = kind;
  const hasLabel = label !== "" && !(heading > 0 && label === BULLET);
  const labelled = hasLabel ? `${label} ${said}` : said;
  if (table.take(labelled)) return;
  if (heading > 0 || !hasLabel) text.gap();
  const indent = hasLabel ? "  ".repeat(Math.min(level, MOST_INDENT)) : "";
  text.add(`${heading > 0 ? `${"#".repeat(heading)} ` : indent}${labelled}\n`);
  if (heading > 0) text.gap();
}

/** More columns than the tables of an office have. */
const MOST_COLUMNS = 1000;

/** A table that is read: {@link tableOf}. */
export interface Table {
  readonly handlers: Handlers;
  /** True if a cell is open: the paragraph is in it. */
  take(said: string): boolean;
  /** Leaves columns empty at this place of the row. */
  skip(columns: number): void;
  /** Says over how many columns the open cell goes. The others are empty, so that the nth cell is the nth column. */
  span(columns: number): void;
}

/** Rows of a table are `a | b`; a table in a cell is a part of the cell. */
export function tableOf(xml: ReturnType<typeof openXml>, text: Growing, table: string, tr: string, td: string): Table {
  let row: string[] = [];
  let cell: string | null = null;
  let columns = 1;
  const outermost = (work: () => void) => () => {
    if (xml.depth(table) === 1) work();
  };
  const skip = (empty: number) => {
    for (let n = 0; n < empty && row.length < MOST_COLUMNS; n++) row.push("");
  };
  return {
    handlers: {
      [table]: outermost(text.gap),
      [`/${table}`]: outermost(text.gap),
      [tr]: outermost(() => (row = [])),
      [`/${tr}`]: outermost(() => text.add(row.length > 0 ? `${row.join(" | ")}\n` : "")),
      [td]: outermost(() => {
        cell = "";
        columns = 1;
      }),
      [`/${td}`]: outermost(() => {
        if (cell !== null) row.push(cell.replaceAll("\n", " "));
        cell = null;
        skip(columns - 1);
      }),
    },
    take(said) {
      if (cell === null) return false;
      cell += `${cell === "" ? "" : " "}${said}`;
      return true;
    },
    skip: (empty) => outermost(() => skip(empty))(),
    span: (over) => outermost(() => (columns = over))(),
  };
}

/** @throws Unreadable */
export function refuseEncrypted(parts: Parts): void {
  walkXml(parts.text("META-INF/manifest.xml"), {
    "manifest:encryption-data"() {
      throw encrypted();
    },
  });
}
