import { expect, test } from "vitest";
import { load } from "../../../src/context/load/load.ts";
import { openParts } from "../../../src/documents/archives.ts";
import { folderWith } from "../../support/tree.ts";
import { ORIGINALS } from "./originals.ts";
import { zip } from "./packed.ts";

// Whatever a reader meets and does not take is a loss that is named: an element of which no rule knows holds words.

const WORDS = "swallowed words";
const ODD = `<odd:thing xmlns:odd="urn:odd">${WORDS}</odd:thing>`;

/** Parts of the originals that hold their text. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  "plan.docx": ["word/document.xml", "word/footnotes.xml", "word/comments.xml"],
  "talk.pptx": ["ppt/slides/slide2.xml", "ppt/notesSlides/notesSlide1.xml"],
  "sales.xlsx": ["xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"],
  "book.epub": ["OEBPS/one.xhtml"],
  "text.odt": ["content.xml"],
  "talk.odp": ["content.xml"],
  "cost.ods": ["content.xml"],
};

/**
 * Elements in which no words are read, or others in their place: what was deleted, who noted it and when, marks of notes, formulas, readings
 * of characters, and the number by which a cell's value is found.
 */
const SILENT = "w:delText f v rPh text:tracked-changes text:note-citation dc:creator dc:date".split(" ");

interface Case {
  readonly name: string;
  readonly part: string;
  readonly source: string;
  /** The element in or around which something odd stands. */
  readonly element: string;
  readonly how: "first in" | "last in" | "around";
}

/** Each element of a part with something odd at its beginning, at its end, and around it. */
function casesOf(name: string, part: string, source: string): Case[] {
  const elements = new Set(Array.from(source.matchAll(/<\/([\w:-]+)>/g), ([, element = ""]) => element));
  const silent = SILENT.flatMap((name) => startsOf(source, name).map((at) => [at, endOf(source, name, at)] as const));
  return [...elements].flatMap((element) => {
    const start = startsOf(source, element).findLast((at) => !silent.some(([from, to]) => at > from && at < to)) ?? 0;
    const inner = source.indexOf(">", start) + 1;
    const end = endOf(source, element, start);
    const close = end - `</${element}>`.length;
    const within = (at: number) => source.slice(0, at) + ODD + source.slice(at);
    const around = `${source.slice(0, start)}<odd:x>${source.slice(start, end)}</odd:x>${source.slice(end)}`;
    const all = { "first in": within(inner), "last in": within(close), around } as const;
    return (["first in", "last in", "around"] as const).map((how) => ({ name, part, element, how, source: all[how] }));
  });
}

/** The places where elements begin that are not empty. */
function startsOf(source: string, element: string): number[] {
  return Array.from(source.matchAll(new RegExp(`<${element}(?: [^>]*[^/>])?>`, "g")), ({ index }) => index);
}

/** The end of the element that starts here. */
function endOf(source: string, element: string, start: number): number {
  let depth = 0;
  for (const { 0: tag, index } of source.slice(start).matchAll(new RegExp(`</?${element}(?=[ />])[^>]*>`, "g"))) {
    if (!tag.endsWith("/>")) depth += tag.startsWith("</") ? -1 : 1;
    if (depth === 0) return start + index + tag.length;
  }
  throw new Error(`${element} has no end`);
}

async function membersOf(name: string) {
  const { members } = await openParts(ORIGINALS[name]?.() ?? Buffer.alloc(0));
  return members.map((member) => ({ name: member.name, data: member.read() }));
}

test("an odd element in or around any other one takes no words away without a loss that names it", async () => {
  const tree: Record<string, Buffer> = {};
  const cases: Case[] = [];
  for (const [name, parts] of Object.entries(TEXTS)) {
    const members = await membersOf(name);
    tree[name] = zip(members);
    for (const part of parts) {
      const source = members.find((member) => member.name === part)?.data.toString() ?? "";
      for (const odd of casesOf(name, part, source)) {
        tree[`${cases.length} ${name}`] = zip(
          members.map((member) => (member.name === part ? { name: part, data: odd.source } : member)),
        );
        cases.push(odd);
      }
    }
  }
  const cwd = folderWith(tree);
  const { text, documents } = await load({ kind: "path", path: "." }, { cwd, roots: [cwd] });
  const readAs = (id: string) => {
    const { start = 0, end = 0, lost = [] } = documents.find((document) => document.id === id) ?? {};
    return { said: text.slice(start, end), odd: lost.find(({ kind }) => kind === "unread element")?.where ?? [] };
  };
  const wrong = cases.filter(({ name, element, how }, at) => {
    const { said, odd } = readAs(`${at} ${name}`);
    if (how === "around") {
      const words = readAs(name).said.match(/[\p{L}\d]+/gu) ?? [];
      return odd.length === 0 && words.some((word) => !said.includes(word));
    }
    return !SILENT.includes(element) && said.includes(WORDS) === odd.includes("odd:thing");
  });
  expect(wrong.map(({ name, part, element, how }) => `${name} ${part}: ${how} ${element}`)).toEqual([]);
  expect(cases.length).toBeGreaterThan(100);
});

const [WORDED, EMPTY] = [`<odd>${WORDS}</odd>`, "<odd><of/></odd>"];
/** Parts beside those that readers know, and the loss that each is; null: none. */
const PARTS: readonly (readonly [part: string, data: string, kind: string | null])[] = [
  ["odd/words.xml", WORDED, "unread part"],
  ["odd/words.html", WORDS, "unread part"],
  ["odd/empty.xml", EMPTY, null],
  ["odd/data.bin", WORDS, null],
  ["docProps/core.xml", WORDED, null],
  ["customXml/item1.xml", WORDED, null],
  ["ppt/slideLayouts/slideLayout1.xml", WORDED, null],
  ["odd/sounds/a.wav", WORDS, "recording"],
  ["odd/pictures/a", WORDS, "image"],
];
const RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const RELATIONS = [
  ["package/2006/relationships/metadata/core-properties", "docProps/core.xml"],
  [`${RELATION}/customXml`, "customXml/item1.xml"],
  [`${RELATION}/slideLayout`, "ppt/slideLayouts/slideLayout1.xml"],
  [`${RELATION}/image`, "odd/pictures/a"],
].map(([type, target], at) => `<Relationship Id="r${at}" Type="${type}" Target="${target}"/>`);
const TYPES = '<Types><Default Extension="wav" ContentType="audio/x-wav"/></Types>';

test("a part with words that no reader opens is a loss that names it, or known to be none", async () => {
  const { members } = await openParts(ORIGINALS["talk.pptx"]?.() ?? Buffer.alloc(0));
  const known = members.filter(
    ({ name }) => name.startsWith("ppt/pres") || name.startsWith("ppt/slides/") || name.startsWith("ppt/_rels"),
  );
  const file = (parts: readonly { readonly name: string; readonly data: string }[]) =>
    zip([
      { name: "[Content_Types].xml", data: TYPES },
      { name: "_rels/.rels", data: `<Relationships>${RELATIONS.join("")}</Relationships>` },
      ...known.map(({ name, read }) => ({ name, data: read() })),
      ...parts,
    ]);
  const cases = PARTS.map(([name, data], at) => [`${at}.pptx`, file([{ name, data }])] as const);
  const cwd = folderWith({ "none.pptx": file([]), ...Object.fromEntries(cases) });
  const { documents } = await load({ kind: "path", path: "." }, { cwd, roots: [cwd] });
  const lostIn = (id: string) => documents.find((document) => document.id === id)?.lost;
  const without = lostIn("none.pptx") ?? [];
  for (const [at, [part, , kind]] of PARTS.entries()) {
    const where = kind === "unread part" ? [part] : [];
    expect([part, lostIn(`${at}.pptx`)]).toEqual([part, [...without, ...(kind ? [{ kind, count: 1, where }] : [])]]);
  }
});
