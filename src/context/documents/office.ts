import { posix } from "node:path";
import type { Parts } from "./archives.ts";
import { encrypted, type Growing } from "./growing.ts";
import { type openXml, walkXml } from "./xml.ts";

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

/** The parts that a part refers to, by their ids. Those outside of the file are left out. */
export function relationsOf(parts: Parts, of: string): Map<string, { readonly type: string; readonly target: string }> {
  const found = new Map<string, { type: string; target: string }>();
  const { dir, base } = posix.parse(of);
  walkXml(parts.text(`${dir}/_rels/${base}.rels`), {
    Relationship({ Id = "", Type = "", Target = "", TargetMode }) {
      if (TargetMode === "External") return;
      const target = Target.startsWith("/") ? posix.normalize(Target.slice(1)) : posix.join(dir, Target);
      found.set(Id, { type: posix.basename(Type), target });
    },
  });
  return found;
}

/** Writes a heading, an item of a list or a paragraph. */
export function block(text: Growing, said: string, level: number, isItem: boolean): void {
  if (level > 0 || !isItem) text.gap();
  text.add(`${level > 0 ? `${"#".repeat(level)} ` : isItem ? "- " : ""}${said}\n`);
  if (level > 0) text.gap();
}

/** Rows of a table are `a | b`; a table in a cell is a part of the cell. */
export function tableOf(xml: ReturnType<typeof openXml>, text: Growing, table: string, tr: string, td: string) {
  let row: string[] = [];
  let cell: string | null = null;
  const outermost = (work: () => void) => () => {
    if (xml.depth(table) === 1) work();
  };
  return {
    handlers: {
      [table]: outermost(text.gap),
      [`/${table}`]: outermost(text.gap),
      [tr]: outermost(() => (row = [])),
      [`/${tr}`]: outermost(() => text.add(row.length > 0 ? `${row.join(" | ")}\n` : "")),
      [td]: outermost(() => (cell = "")),
      [`/${td}`]: outermost(() => {
        if (cell !== null) row.push(cell.replaceAll("\n", " "));
        cell = null;
      }),
    },
    /** True if a cell is open: the paragraph is in it. */
    take(said: string): boolean {
      if (cell === null) return false;
      cell += `${cell === "" ? "" : " "}${said}`;
      return true;
    },
  };
}

/** @throws Unreadable */
export function refuseEncrypted(parts: Parts): void {
  if (parts.text("META-INF/manifest.xml").includes("encryption-data")) throw encrypted();
}
