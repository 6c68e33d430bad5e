import { expect, test } from "vitest";
import type { Context } from "../../src/context/context.ts";
import { openParts } from "../../src/context/documents/archives.ts";
import { load } from "../../src/context/load/load.ts";
import { folderWith } from "../support/tree.ts";
import { ORIGINALS } from "./originals.ts";
import { zip } from "./packed.ts";

// Whatever a reader meets and does not take is a loss that is named: an element of which no rule knows holds words.

const WORDS = "swallowed words";
const ODD = `<odd:thing xmlns:odd="urn:odd">${WORDS}</odd:thing>`;

/** Parts of the originals that hold their text, and ends of elements before which the words stand. */
const PLACES: Readonly<Record<string, readonly [part: string, ...before: string[]]>> = {
  "plan.docx": ["word/document.xml", "</w:body>", "</w:p>", "</w:tc>", "</w:tbl>"],
  "talk.pptx": ["ppt/slides/slide2.xml", "</p:sld>", "</a:p>", "</a:tc>"],
  "sales.xlsx": ["xl/worksheets/sheet1.xml", "</worksheet>", "</row>", "</c>"],
  "text.odt": ["content.xml", "</office:text>"],
  "talk.odp": ["content.xml", "</draw:page>"],
  "cost.ods": ["content.xml", "</office:body>", "</table:table>", "</table:table-row>", "</table:table-cell>"],
};
const CASES = Object.entries(PLACES).flatMap(([name, [part, ...ends]]) =>
  ends.map((end) => [name, part, end] as const),
);

/** The original with the odd element in it. */
async function withOdd(name: string, part: string, end: string): Promise<Buffer> {
  const { members } = await openParts(ORIGINALS[name]?.() ?? Buffer.alloc(0));
  const found =
    members
      .find((member) => member.name === part)
      ?.read()
      .toString() ?? "";
  expect(found).toContain(end);
  const odd = found.replace(end, `${ODD}${end}`);
  return zip(members.map(({ name, read }) => ({ name, data: name === part ? odd : read() })));
}

/** All cases, read by the first test that asks. */
let loaded: Promise<Context> | undefined;

async function all(): Promise<Context> {
  const files = CASES.map(async ([name, part, end], at) => [`${at} ${name}`, await withOdd(name, part, end)] as const);
  const cwd = folderWith(Object.fromEntries(await Promise.all(files)));
  return load({ kind: "path", path: "." }, { cwd, roots: [cwd] });
}

test.for(CASES)("%s: words in an odd element of %s before %s are taken, or a loss that names it", async (odd) => {
  loaded ??= all();
  const { text, documents } = await loaded;
  const found = documents.find(({ id }) => id === `${CASES.indexOf(odd)} ${odd[0]}`);
  const { start = 0, end = 0, lost = [] } = found ?? {};
  const isTaken = text.slice(start, end).includes(WORDS);
  const isTold = lost.some(({ kind, where }) => kind === "unread element" && where.includes("odd:thing"));
  expect(isTaken !== isTold).toBe(true);
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
