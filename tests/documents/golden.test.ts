import { DatabaseSync } from "node:sqlite";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import type { Context } from "../../src/context/context.ts";
import { load } from "../../src/context/load/load.ts";
import { folderWith } from "../support/tree.ts";
import { ORIGINALS, scan } from "./originals.ts";
import { tar, zip } from "./packed.ts";

// The text of each kind of document, with its places and losses: the files in texts/. `npx vitest run tests/documents -u` writes them.

async function loaded(tree: Readonly<Record<string, Uint8Array>>, path = "."): Promise<Context> {
  const cwd = folderWith(tree);
  return load({ kind: "path", path }, { cwd, roots: [cwd] });
}

function described({ text, documents }: Context, id: string): string {
  const found = documents.find((document) => document.id === id);
  if (!found) throw new Error(`${id} is not loaded`);
  const { start, end, original, places = [], lost = [] } = found;
  const facts = [
    `kind: ${original?.kind}, reader: ${original?.reader}`,
    ...places.map((place) => `place: ${JSON.stringify(place)}`),
    ...lost.map((loss) => `lost: ${JSON.stringify(loss)}`),
  ];
  return `${facts.join("\n")}\n----\n${text.slice(start, end)}`;
}

test.for(Object.keys(ORIGINALS))("%s becomes the text that is kept for it", async (name) => {
  const context = await loaded({ [name]: ORIGINALS[name]?.() ?? Buffer.alloc(0) }, name);
  await expect(described(context, name)).toMatchFileSnapshot(`texts/${name}.txt`);
  // Nothing stands before or behind a document that is alone.
  expect(context.documents).toMatchObject([{ id: name, start: 0, end: context.text.length }]);
});

// Node before 24.16 reads databases from files alone.
const readsInMemory = "deserialize" in DatabaseSync.prototype;
const IN_ARCHIVES = Object.keys(ORIGINALS).filter((name) => readsInMemory || name !== "shop.db");
const members = IN_ARCHIVES.map((name) => ({ name: `deep/${name}`, data: ORIGINALS[name]?.() ?? "" }));
/** The same documents as files, loaded by the first test that asks. */
let files: Promise<Context> | undefined;

test.for([
  ["all.zip", zip(members)],
  ["all.tar", tar(members)],
  ["all.tar.gz", gzipSync(tar(members))],
  ["all.tgz", gzipSync(tar(members))],
  ["all.tar.zst", zstdCompressSync(tar(members))],
] as const)("in %s each kind has the same text", async ([name, bytes]) => {
  files ??= loaded(Object.fromEntries(members.map(({ name, data }) => [name, Buffer.from(data)])));
  const [alone, together] = [await files, await loaded({ [name]: bytes })];
  expect(together.documents.map(({ id }) => id)).toEqual(members.map((member) => `${name}/${member.name}`));
  for (const { name: member } of members) {
    expect(described(together, `${name}/${member}`)).toBe(described(alone, member));
  }
  const named = await loaded({ [name]: bytes }, name);
  expect(named.text.slice(0, named.text.length)).toBe(together.text.slice(0, together.text.length));
});

test.skipIf(!readsInMemory)("a database in an archive is read although it was written with a log", async () => {
  const shop = ORIGINALS["shop.db"]?.() ?? Buffer.alloc(0);
  const logged = Buffer.from(shop);
  logged.fill(2, 18, 20);
  const { text, documents } = await loaded({ "a.zip": zip([{ name: "l.db", data: logged }]), "shop.db": shop });
  const [first = "", second] = documents.map(({ start, end }) => text.slice(start, end));
  expect(first).toContain("orders");
  expect(first).toBe(second);
});

test("a file that is packed by itself keeps its name, and its text is that of the file in it", async () => {
  const context = await loaded({
    "a.txt.gz": gzipSync("plain\n"),
    "r.pdf.zst": zstdCompressSync(ORIGINALS["report.pdf"]?.() ?? ""),
  });
  expect(context.documents.map(({ id, original }) => [id, original?.kind])).toEqual([
    ["a.txt.gz", undefined],
    ["r.pdf.zst", "pdf"],
  ]);
});

test("a document without text is an error that says what to type, and in a folder it is skipped", async () => {
  const tree = { "my scan.pdf": scan(), "a.txt": Buffer.from("a") };
  await expect(loaded(tree, "my scan.pdf")).rejects.toMatchObject({
    code: "document_unreadable",
    message: "my scan.pdf has text on none of its 2 pages",
    suggestion: "Run `ocrmypdf 'my scan.pdf' 'my scan-text.pdf'`, then load `'my scan-text.pdf'`.",
  });
  const { stats } = await loaded(tree);
  expect(stats.skipped.files).toEqual([{ path: "my scan.pdf", reason: "has text on none of its 2 pages" }]);
});
