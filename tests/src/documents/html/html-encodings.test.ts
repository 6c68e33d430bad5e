import { expect, test } from "vitest";
import { decodedHtml } from "../../../../src/documents/decoded.ts";
import { growing } from "../../../../src/documents/growing.ts";
import { readHtml } from "../../../../src/documents/html/html.ts";

/** Texts in encodings that Node does not write, as Python's codecs write them. */
const BYTES = {
  "koi8-r": ["Привет, мир", "f0d2c9d7c5d42c20cdc9d2"],
  "windows-1251": ["Привет, мир", "cff0e8e2e5f22c20ece8f0"],
  gbk: ["你好，世界", "c4e3bac3a3accac0bde7"],
  big5: ["繁體中文", "c163c5e9a4a4a4e5"],
  shift_jis: ["日本語テキスト", "93fa967b8cea8365834c83588367"],
  "euc-jp": ["日本語テキスト", "c6fccbdcb8eca5c6a5ada5b9a5c8"],
  "iso-2022-jp": ["日本語テキスト", "1b2442467c4b5c386c2546252d253925481b2842"],
  "euc-kr": ["한국어", "c7d1b1b9beee"],
} as const;

function pageIn(encoding: keyof typeof BYTES, head: string): readonly [Buffer, string] {
  const [words, hex] = BYTES[encoding];
  return [Buffer.concat([Buffer.from(head), Buffer.from(hex, "hex")]), words];
}

/** The text of a page and what is lost of it. */
function read(bytes: Buffer, encoding?: string) {
  const text = growing(1e6);
  readHtml(decodedHtml(bytes, text, encoding), text);
  const { text: all, lost } = text.end();
  return [all.trim(), lost] as const;
}

const GUESS = [{ kind: "guessed encoding", count: 1, where: ["windows-1252"] }];

test.for(Object.keys(BYTES) as (keyof typeof BYTES)[])(
  "a page in %s that says so is read, whatever is around it",
  (name) => {
    const declared = [
      `<meta charset=${name}>`,
      `<META content='text/html; charset = "${name.toUpperCase()}"' http-equiv="content-TYPE">`,
      `<meta content="text/html;charset=${name}">`,
      `<!-- <meta charset=utf-8> -->\n<script charset="utf-8">document.write('<meta charset=latin1>')</script><meta charset="${name}">`,
      `<style>${"p { color: red }\n".repeat(200)}</style><title>a</title><meta charset="${name}">`,
      `<meta charset="klingon"><meta charset=" ${name} "><meta charset="latin1">`,
      `<meta charset=utf-16><meta charset=${name}>`,
      `<?xml version="1.0" encoding='${name}'?>`,
    ];
    for (const head of declared) {
      const [bytes, words] = pageIn(name, `${head}<p>`);
      const [said, lost] = read(bytes);
      expect(said.split("\n").at(-1)).toBe(words);
      expect(lost).toEqual([]);
    }
  },
);

test.each([
  ["utf-16le, marked", Buffer.from("\ufeff<p>Grüße</p>", "utf16le")],
  ["utf-16le", Buffer.from("<p>Grüße</p>", "utf16le")],
  ["utf-16le that says utf-8", Buffer.from('<meta charset="utf-8"><p>Grüße</p>', "utf16le")],
  ["utf-16be, marked", Buffer.from("\ufeff<p>Grüße</p>", "utf16le").swap16()],
  ["utf-16be", Buffer.from("<p>Grüße</p>", "utf16le").swap16()],
  ["utf-8 that says latin1", Buffer.from("<meta charset=latin1><p>Grüße</p>")],
  ["utf-8, marked, that says gbk", Buffer.from("\ufeff<meta charset=gbk><p>Grüße</p>")],
  ["utf-8 that says nothing", Buffer.from("<p>Grüße</p>")],
  ["utf-8 that says iso-2022-jp in a paragraph", Buffer.from("<p>Grüße</p><!-- charset=iso-2022-jp -->")],
  ["latin1 that says x-sjis to a script", Buffer.from("<meta charset=latin1><p>Gr\xfc\xdfe</p>", "latin1")],
])("a page in %s is read", (_, bytes) => {
  expect(read(bytes)).toEqual(["Grüße", []]);
});

test("letters of UTF-16 with a NUL at the other place do not matter", () => {
  expect(read(Buffer.from("<p>\u3000\u0100\u2000b", "utf16le"))[0]).toBe("\u0100 b");
});

test.each([
  ["nothing", "<p>Gr\xfc\xdfe \x80"],
  ["UTF-8", "<meta charset=utf-8><p>Gr\xfc\xdfe \x80"],
  ["an unknown encoding", "<meta charset=klingon><p>Gr\xfc\xdfe \x80"],
  ["x-user-defined", "<meta charset=x-user-defined><p>Gr\xfc\xdfe \x80"],
  ["UTF-16", "<meta charset=utf-16><p>Gr\xfc\xdfe \x80"],
])("bytes that are not UTF-8 in a page that says %s are a guess", (_, page) => {
  expect(read(Buffer.from(page, "latin1"))).toEqual(["Grüße €", GUESS]);
});

test("an encoding of ASCII with escapes that is not known is a guess", () => {
  expect(read(Buffer.from("<meta charset=iso-2022-kr><p>\x0e0!\x0f"))[1]).toEqual(GUESS);
});

test("escapes to Japanese in a page that says nothing are a guess, unless a user says UTF-8 or there is more than ASCII", () => {
  const [bytes, words] = pageIn("iso-2022-jp", "<p>");
  expect(read(bytes)).toEqual([words, [{ kind: "guessed encoding", count: 1, where: ["iso-2022-jp"] }]]);
  expect(read(bytes, "utf-8")[0]).toContain("$BF|");
  expect(read(Buffer.concat([bytes, Buffer.from("ü")]))[0]).toContain("$BF|");
  expect(read(Buffer.from("<p>\u001b(B\u001b[1mbold"))[1]).toEqual([]);
});

test("the word of a user counts for what is not UTF-8, before that of the page", () => {
  const [bytes, words] = pageIn("koi8-r", "<meta charset=latin1><p>");
  expect(read(bytes, "koi8-r")).toEqual([words, []]);
  expect(read(Buffer.from("<p>Grüße"), "koi8-r")).toEqual(["Grüße", []]);
  expect(read(Buffer.from("好<p>Grüße", "utf16le"), "utf-16le")[0]).toBe("好\n\nGrüße");
  const [said, lost] = read(Buffer.from("<p>Gr\xfc\xdfe", "latin1"), "utf-8");
  expect(said).toBe("Gr\ufffd\ufffde");
  expect(lost).toEqual([{ kind: "byte that is not UTF-8", count: 2, where: ["line 1"] }]);
});

test("a damaged character of a page in UTF-8 costs no other one, and is told", () => {
  const page = Buffer.from(`<p>${"Grüße ".repeat(100)}\n<p>Ende \xfc`);
  const damaged = Buffer.concat([page.subarray(0, -2), Buffer.from([0xfc])]);
  const [said, lost] = read(damaged);
  expect(said).toBe(`${"Grüße ".repeat(100).trim()}\n\nEnde \ufffd`);
  expect(lost).toEqual([{ kind: "byte that is not UTF-8", count: 1, where: ["line 2"] }]);
});

test("bytes that are not of the encoding that a page says are told", () => {
  const [bytes, words] = pageIn("gbk", "<meta charset=gbk><p>");
  const [said, lost] = read(Buffer.concat([bytes, Buffer.from([0xff, 0x0a])]));
  expect(said).toBe(`${words}\ufffd`);
  expect(lost).toEqual([{ kind: "byte that is not gbk", count: 1, where: ["line 1"] }]);
});

test.each([
  ["UTF-32", Buffer.from("<\0\0\0p\0\0\0>\0\0\0a\0\0\0")],
  ["a picture", Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0", "latin1")],
  ["numbers of two bytes", Buffer.from("\x05\0\x07\0\0\0\0\0\x01\0", "latin1")],
])("%s is no page", (_, bytes) => {
  expect(() => read(bytes)).toThrow(/^(?:binary \(NUL in |UTF-32LE)/);
});
