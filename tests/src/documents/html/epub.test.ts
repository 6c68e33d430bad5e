import { expect, test } from "vitest";
import { openParts } from "../../../../src/documents/archives.ts";
import { growing } from "../../../../src/documents/growing.ts";
import { readEpub } from "../../../../src/documents/html/epub.ts";
import { zip } from "../packed.ts";

const XHTML = "application/xhtml+xml";
const CONTAINER =
  '<c:container xmlns:c="urn:oasis:names:tc:opendocument:xmlns:container"><c:rootfiles><c:rootfile full-path="E/p.opf"/></c:rootfiles></c:container>';

/** The text and losses of a book with these entries of its package and these parts. */
async function read(manifest: string, spine: string, parts: Readonly<Record<string, string | Buffer>>) {
  const opf = `<opf:package xmlns:opf="http://www.idpf.org/2007/opf"><opf:manifest>${manifest}</opf:manifest><opf:spine>${spine}</opf:spine></opf:package>`;
  const all = { "META-INF/container.xml": CONTAINER, "E/p.opf": opf, ...parts };
  const text = growing(1e6);
  const members = Object.entries(all).map(([name, data]) => ({ name, data }));
  readEpub(await openParts(zip(members)), text);
  const { text: said, places, lost } = text.end();
  return { said: said.split("\n").filter((line) => line !== ""), places, lost };
}

const item = (id: string, href: string, more = "") =>
  `<opf:item id="${id}" href="${href}" media-type="${XHTML}" ${more}/>`;
const ref = (id: string) => `<opf:itemref idref="${id}"/>`;

test("chapters are found by names that are escaped, have a fragment or another case", async () => {
  const { said } = await read(item("a", "Te%78t/A%20b.XHTML#top"), ref("a"), { "E/text/a b.xhtml": "<p>found</p>" });
  expect(said).toEqual(["[chapter 1]", "found"]);
});

test("a chapter is decoded as it says, has sections of XML, and keeps marks of notes apart", async () => {
  const utf16 = Buffer.from("\ufeff<?xml version='1.0' encoding='utf-16'?><p>Größe</p>", "utf16le");
  const latin1 = Buffer.from("<?xml version='1.0' encoding='iso-8859-1'?><p>Gr\xf6\xdfe</p>", "latin1");
  const { said, lost } = await read(item("a", "a") + item("b", "b") + item("c", "c"), ref("a") + ref("b") + ref("c"), {
    ...{ "E/a": utf16, "E/b": latin1 },
    "E/c":
      "<title/><script src='a'/><p>a note<a epub:type='noteref'>1</a> <![CDATA[x < y]]></p><nav hidden=''>no</nav>",
  });
  expect(said).toEqual(["[chapter 1]", "Größe", "[chapter 2]", "Größe", "[chapter 3]", "a note^1 x < y"]);
  expect(lost).toEqual([]);
});

test("documents that the spine does not have are told if they have text, but for the contents", async () => {
  const manifest = `${item("a", "a")}${item("extra", "extra")}${item("cover", "cover")}${item("toc", "toc", 'properties="nav"')}`;
  const { said, lost } = await read(manifest, ref("a") + ref("a"), {
    "E/a": "<p>read</p>",
    "E/extra": "<p>not read</p>",
    "E/cover": "<img src='a.png'/>",
    "E/toc": "<nav>read</nav>",
  });
  expect(said).toEqual(["[chapter 1]", "read", "[chapter 2]", "read"]);
  expect(lost).toEqual([{ kind: "unread part", count: 1, where: ["E/extra"] }]);
});

test("a chapter may be a drawing, but not a picture, and without a spine all documents are chapters", async () => {
  const drawing =
    '<opf:item id="d" href="d.svg" media-type="image/svg+xml"/><opf:item id="j" href="j" media-type="image/jpeg"/>';
  const parts = { "E/d.svg": "<svg><text>drawn</text></svg>", "E/j": "\xff\xd8words", "E/a": "<p>first</p>" };
  const { said, lost } = await read(drawing, ref("d") + ref("j"), parts);
  expect(said).toEqual(["[chapter 1]", "drawn"]);
  expect(lost).toEqual([{ kind: "unread part", count: 1, where: ["E/j"] }]);
  expect((await read(item("a", "a"), ref("gone"), parts)).said).toEqual(["[chapter 1]", "first"]);
});

const encryption = (algorithm: string, ...uris: string[]) => {
  const data = uris.map((uri) => {
    const reference = `<enc:CipherData><enc:CipherReference URI="${uri}"/></enc:CipherData>`;
    return `<enc:EncryptedData><enc:EncryptionMethod Algorithm="${algorithm}"/>${reference}</enc:EncryptedData>`;
  });
  return `<encryption xmlns:enc="http://www.w3.org/2001/04/xmlenc#">${data.join("")}</encryption>`;
};

test("fonts that are hard to copy cost nothing, and chapters that are encrypted are told", async () => {
  const parts = { "E/a": "<p>read</p>", "E/b": "\x01\x02" };
  const load = (encrypted: string) =>
    read(item("a", "a") + item("b", "b"), ref("a") + ref("b"), { ...parts, "META-INF/encryption.xml": encrypted });
  expect((await load(encryption("http://www.idpf.org/2008/embedding", "E/font.otf"))).lost).toEqual([]);
  const aes = "http://www.w3.org/2001/04/xmlenc#aes256-cbc";
  const { said, lost } = await load(encryption(aes, "E/b"));
  expect(said).toEqual(["[chapter 1]", "read"]);
  expect(lost).toEqual([{ kind: "encrypted part", count: 1, where: [2] }]);
  await expect(load(encryption(aes, "E/a", "E/b"))).rejects.toThrow("is encrypted: it needs a password");
});
