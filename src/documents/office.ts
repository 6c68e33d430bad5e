import { posix } from "node:path";
import type { Parts } from "./archives.ts";
import { encrypted, type Growing } from "./growing.ts";
import { extensionOf } from "./kinds.ts";
import { BULLET } from "./labels.ts";
import { type Handlers, openXml, walkXml, type Xml } from "./markup.ts";

/**
 * Parts that no reader opens, by their facts: `image/png <image> /word/media/a.png` is content
 * type, relation and name. Each is a loss of this kind, or null if a person does not see its text
 * in the document.
 */
const UNOPENED: readonly (readonly [facts: RegExp, kind: string | null])[] = [
  // Relations, properties, pictures for lists of files and of tables that are read, signatures.
  [/ \/mimetype$|\.rels$|-properties>|<thumbnail>|\/Thumbnails\/|\/TablePreview|digital-signature/, null],
  [/\/(meta|settings|styles)\.xml$|\/manifest\.(xml|rdf)$| \/Configurations2\//, null],
  [/^(audio|video)\//, "recording"],
  [/^image\/|^application\/inkml|<image>|\/(media|Pictures)\//, "image"],
  [/\bchart(ex)?\+xml|\/charts\/chart[^/]*\.xml$/, "chart"],
  [/diagramData|\/diagrams\/data[^/]*\.xml$/, "diagram"],
  [/oleObject|<package>|\/embeddings\/| \/Object \d+\/content\.xml$/, "embedded object"],
  [/vbaProject| \/Basic\//i, "macro"],
  [/<comments>|<threadedComment>|\/comments\d*\.xml$|\/(comments|threadedComments)\//, "part with comments"],
  // Templates, building blocks, looks of charts and diagrams, history, and data behind what is
  // shown.
  [
    /(slide|notes|handout)Master|slideLayout|glossary|chartshapes|diagramDrawing|\/(charts|diagrams)\/|revisionLog/,
    null,
  ],
  [/<customXml|\.table\+xml|externalLink\+xml|\.pivot|rdrichvalue|featurepropertybag|vmlDrawing/, null],
  // The reader of the text that has it tells.
  [/<aFChunk>/, null],
];

/** The loss of a part that no rule of a reader knows, and that has words. */
export const UNREAD_PART = "unread part";

/** Loses the parts that no reader has opened, if a person may see their text. */
export function loseUnopened(parts: Parts, text: Growing): void {
  const typeOf = contentTypes(parts);
  const related = new Map<string, string>();
  for (const name of parts.names) {
    if (!name.endsWith(".rels")) continue;
    const of = name.replace(/_rels\/([^/]*)\.rels$/, "$1");
    for (const { type, target } of relationsOf(parts, of).values()) related.set(target, type);
  }
  for (const name of parts.unopened()) {
    const facts = `${typeOf(name)} <${related.get(name) ?? ""}> /${name}`;
    const known = UNOPENED.find(([pattern]) => pattern.test(facts));
    if (known === undefined && hasWords(parts, name)) text.lose(UNREAD_PART, name);
    else if (known?.[1]) text.lose(known[1]);
  }
}

/** True if a part has text between elements of XML, or is a text by its name, or cannot be read. */
function hasWords(parts: Parts, name: string): boolean {
  if (/^(html?|xhtml|mht|rtf|txt|csv|docx?|xlsx?|pptx?|pdf)$/.test(extensionOf(name))) return true;
  if (extensionOf(name) !== "xml") return false;
  let isFound = false;
  const unread = () => {
    isFound = true;
  };
  try {
    openXml(parts.text(name)).walk({ unread });
    return isFound;
  } catch {
    return true;
  }
}

/** A part that another one refers to. */
interface Relation {
  /** The last name in the address of its type, such as `styles`. */
  readonly type: string;
  readonly target: string;
}

/**
 * The parts that a part refers to, by their ids. Those outside of the file are left out.
 *
 * @param of "" for the file itself
 */
export function relationsOf(parts: Parts, of: string): Map<string, Relation> {
  const relations = new Map<string, Relation>();
  const { dir, base } = posix.parse(of);
  walkXml(parts.text(posix.join(dir, `_rels/${base}.rels`)), {
    Relationship({ Id = "", Type = "", Target = "", TargetMode }) {
      if (TargetMode === "External") return;
      const address = Target.replaceAll("\\", "/");
      const target = address.startsWith("/") ? posix.normalize(address.slice(1)) : posix.join(dir, address);
      relations.set(Id, { type: posix.basename(Type), target: parts.nameOf(target) });
    },
  });
  return relations;
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

/**
 * The kind of a paragraph: a heading of some level, an item of a list with its label and level, or
 * neither.
 */
export interface BlockKind {
  /** 0 if it is no heading. */
  readonly heading?: number;
  /** As it is printed: `1.2`, `(a)`, or the sign of a bullet. */
  readonly label?: string;
  /** The level of an item. The first is 0. */
  readonly level?: number;
}

const MOST_INDENT = 8;

/** A text to which lines are added. */
export type Lines = Pick<Growing, "add" | "gap">;

/** Writes a paragraph, or puts it into the cell that is open. */
export function block(text: Lines, table: Table, said: string, kind: BlockKind): void {
  const { heading = 0, label = "", level = 0 } = kind;
  const hasLabel = label !== "" && !(heading > 0 && label === BULLET);
  const labelled = hasLabel ? `${label} ${said}`.trimEnd() : said;
  if (table.take(labelled)) return;
  if (heading > 0 || !hasLabel) text.gap();
  const indent = hasLabel ? "  ".repeat(Math.min(level, MOST_INDENT)) : "";
  text.add(`${heading > 0 ? `${"#".repeat(heading)} ` : indent}${labelled}\n`);
  if (heading > 0) text.gap();
}

/** More columns than the tables of an office have, and rows that are repeated. */
const MOST_COLUMNS = 1000;
const MOST_REPEATED = 1000;

/** A table that is read: {@link tableOf}. */
export interface Table {
  readonly handlers: Handlers;
  /** True if a cell is open: the paragraph is in it. */
  take(said: string): boolean;
  /** Leaves columns empty at this place of the row. */
  skip(columns: number): void;
  /**
   * Says over how many columns the open cell goes. The others are empty, so that the nth cell is
   * the nth column, or repeat it.
   */
  span(columns: number, isRepeated?: boolean): void;
  /**
   * Says how many columns and rows the open cell covers, for files that leave out the cells which
   * it covers.
   */
  cover(columns: number, rows: number): void;
  /**
   * Says how often the open row comes.
   *
   * @param lose told at its end if it does not come and has words
   */
  repeat(rows: number, lose?: () => void): void;
}

/**
 * Rows of a table are `a | b`; a table in a cell, or in a box of Word, is a part of what it stands
 * in.
 */
export function tableOf(xml: Xml, text: Lines, table: string, tr: string, td: string): Table {
  let row: string[] = [];
  let cell: string | null = null;
  let columns = 1;
  let isRepeated = false;
  let times = 1;
  let lose: (() => void) | undefined;
  // For each column the number of the first row that no cell covers.
  let number = 0;
  let free: number[] = [];
  const isOutermost = () => xml.depth(table) === 1 && !xml.within("mc:Fallback", "w:txbxContent");
  const outermost = (work: () => void) => () => {
    if (isOutermost()) work();
  };
  const fill = (more: number, said = "") => {
    for (let n = 0; n < more && row.length < MOST_COLUMNS; n++) row.push(said);
  };
  return {
    handlers: {
      [table]: outermost(() => {
        text.gap();
        [number, free] = [0, []];
      }),
      [`/${table}`]: outermost(text.gap),
      [tr]: outermost(() => {
        row = [];
        times = 1;
        number += 1;
      }),
      [`/${tr}`]: outermost(() => {
        const line = row.length > 0 ? `${row.join(" | ")}\n` : "";
        if (times === 0 && row.some((said) => said !== "")) lose?.();
        for (let n = 0; n < times; n++) text.add(line);
      }),
      [td]: outermost(() => {
        cell = "";
        columns = 1;
        isRepeated = false;
      }),
      [`/${td}`]: outermost(() => {
        const said = cell?.replaceAll("\n", " ");
        if (said !== undefined) row.push(said);
        cell = null;
        fill(columns - 1, isRepeated ? said : "");
      }),
    },
    take(said) {
      if (cell === null) return false;
      cell += `${cell === "" ? "" : " "}${said}`;
      return true;
    },
    skip(empty) {
      if (isOutermost()) fill(empty);
    },
    cover(over, rows) {
      if (!isOutermost()) return;
      while ((free[row.length] ?? 0) > number) row.push("");
      const end = Math.min(row.length + over, MOST_COLUMNS);
      for (let at = row.length; over * rows > 1 && at < end; at++) free[at] = number + rows;
    },
    span(over, again = false) {
      if (!isOutermost()) return;
      columns = over;
      isRepeated = again;
    },
    repeat(rows, loses) {
      if (!isOutermost()) return;
      times = Math.min(rows, MOST_REPEATED);
      lose = loses;
    },
  };
}

/**
 * The type of an OpenDocument file by its list of parts, for those that have no member `mimetype`;
 * "" if it has none.
 */
export function manifestType(parts: Parts): string {
  let type = "";
  const manifest = parts.names.has("content.xml") ? parts.text("META-INF/manifest.xml") : "";
  walkXml(manifest, {
    "manifest:file-entry"({ "manifest:full-path": path, "manifest:media-type": of = "" }) {
      if (path === "/") type = of;
    },
  });
  return type;
}

/** @throws Unreadable */
export function refuseEncrypted(parts: Parts): void {
  walkXml(parts.text("META-INF/manifest.xml"), {
    "manifest:encryption-data"() {
      throw encrypted();
    },
  });
}
