import { DatabaseSync } from "node:sqlite";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import type { SmallContext } from "../../../src/context/index.ts";
import { load } from "../../../src/context/load/load.ts";
import type { DocumentOptions } from "../../../src/documents/kinds.ts";
import { folderWith } from "../../support/tree.ts";
import { ORIGINALS, scan } from "./originals.ts";
import { tar, zip } from "./packed.ts";

// The text of each kind of document, with its places and losses: the files in texts/. `npx vitest run tests/src/documents -u` writes them.

async function loaded(
  tree: Readonly<Record<string, Uint8Array>>,
  path = ".",
  documents: DocumentOptions = {},
): Promise<SmallContext> {
  const cwd = folderWith(tree);
  return load({ kind: "path", path }, { cwd, roots: [cwd], documents });
}

function described({ text, documents }: SmallContext, id: string): string {
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
let files: Promise<SmallContext> | undefined;

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

test.each([
  ["gz", gzipSync],
  ["zst", zstdCompressSync],
] as const)("a file cut off within its %s data gives what it has, and a loss", async (extension, pack) => {
  const log = Array.from({ length: 60_000 }, (_, n) => `line ${n} ${(n * 7919) % 10_007}\n`).join("");
  const packed = pack(log);
  const { text, stats } = await loaded({ [`a.log.${extension}`]: packed.subarray(0, packed.length - 20_000) });
  expect(stats.length_chars).toBeGreaterThan(100_000);
  const separator = `\n===== a.log.${extension} =====\n`;
  expect(`${separator}${log}`.startsWith(text.slice(0, stats.length_chars))).toBe(true);
  expect(stats.converted).toMatchObject({ lossy: 1, lost: { "rest of a file that is cut off": 1 } });
  const tree = { [`a.log.${extension}`]: packed.subarray(0, 12) };
  await expect(loaded(tree, `a.log.${extension}`)).rejects.toMatchObject({
    message: `a.log.${extension} is damaged: it ends too early`,
    suggestion: "Copy or download it again: a part of it is missing or was changed.",
  });
});

test("an archive that is cut off gives its whole members, and names the first that is not", async () => {
  const whole = tar([
    { name: "a.txt", data: Buffer.from("first\n") },
    { name: "b.txt", data: Buffer.from("x".repeat(5000)) },
  ]);
  const { documents, stats } = await loaded({ "all.tar": whole.subarray(0, 3000) });
  expect(documents.map(({ id }) => id)).toEqual(["all.tar/a.txt"]);
  expect(stats.skipped.files).toEqual([{ path: "all.tar/b.txt", reason: "the archive ends too early" }]);
  // Some programs leave out the blocks that end an archive.
  const { stats: open } = await loaded({ "all.tar": whole.subarray(0, -1024) });
  expect(open.document_count).toBe(2);
  expect(open.skipped.files).toMatchObject([{ reason: "the archive does not say that it ends here" }]);
});

test("a name in a zip that is not UTF-8 is CP437, as the format has it", async () => {
  const named = zip([
    { name: "Stra#e.txt", data: "a" },
    { name: "Grün.txt", data: "b" },
  ]).toString("latin1");
  const { documents } = await loaded({ "a.zip": Buffer.from(named.replaceAll("#", "\xe1"), "latin1") });
  expect(documents.map(({ id }) => id)).toEqual(["a.zip/Straße.txt", "a.zip/Grün.txt"]);
});

test("texts in archives are decoded as those of a folder are", async () => {
  const [few, many] = [Buffer.from(`${"x".repeat(200)}\xe9`, "latin1"), Buffer.from("\xe9t\xe9", "latin1")];
  const members = [
    { name: "few.txt", data: few },
    { name: "many.txt", data: many },
    { name: "wide.txt", data: Buffer.from("\ufeffwide", "utf16le") },
  ];
  const tree = { "a.zip": zip(members), "many.txt.gz": gzipSync(many) };
  const { documents, stats } = await loaded(tree);
  expect(documents.map(({ id, original }) => [id, original?.encoding])).toEqual([
    ["a.zip/few.txt", "utf-8"],
    ["a.zip/wide.txt", "utf-16le"],
  ]);
  expect(stats.skipped.reasons).toEqual({ "not UTF-8": 2 });
  const { text, stats: named } = await loaded(tree, ".", { encoding: "latin1" });
  expect(text.slice(0, text.length)).toContain("\u00e9t\u00e9");
  expect(named.skipped.count).toBe(0);
  await expect(loaded(tree, "many.txt.gz")).rejects.toMatchObject({
    suggestion: 'Name its encoding, such as `encoding: "latin1"`, or read such bytes as U+FFFD with `lossy: true`.',
  });
});

test.each([
  [
    "is UTF-32",
    bytesOfPage("<p>one two", 4),
    "Run `iconv -f UTF-32LE -t UTF-8 a.html > text-a.html`, then load `text-a.html`.",
  ],
  ["has NUL", Buffer.from("<p>one\0\0two"), "Run `tr -d '\\000' < a.html > text-a.html`, then load `text-a.html`."],
  ["has controls", Buffer.from("<p>\u0001\u0002\u0003\u0004\u00e9", "latin1"), "Pass UTF-8 text in a regular file"],
])("a page that %s is an error that says what to type", async (_, page, cure) => {
  const suggestion = expect.stringContaining(cure);
  await expect(loaded({ "a.html": page }, "a.html")).rejects.toMatchObject({ suggestion });
});

/** A page whose characters have so many bytes. */
function bytesOfPage(page: string, width: number): Buffer {
  return Buffer.from(Array.from(page, (sign) => sign + "\0".repeat(width - 1)).join(""));
}

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
