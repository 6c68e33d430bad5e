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
  "cost.ods": ["content.xml", "</table:table>"],
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
