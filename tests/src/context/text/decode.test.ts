import fc from "fast-check";
import { expect, test } from "vitest";
import { type Decoding, decodeText, surveyText, type TextBytes } from "../../../../src/context/text/decode.ts";

const bytesOf = (...codes: number[]) => Uint8Array.from(codes);
const latin1 = (text: string) => Buffer.from(text, "latin1");

/** The text with its encoding and losses, or the reason. */
function read(bytes: Uint8Array, decoding: Partial<Decoding> = {}) {
  const found = decodeText(bytes, { bad: "none", ...decoding });
  if ("reason" in found) return found.reason;
  const { bytes: text, original, lost } = found;
  return [Buffer.from(text).toString(), original?.encoding ?? null, lost ?? []];
}

test("UTF-8 stays as it is, and its mark goes", () => {
  expect(read(Buffer.from("\ufeffgr\u00fc\ufffd\0".slice(0, 5)))).toEqual(["gr\u00fc\ufffd", null, []]);
  const bytes = Buffer.from("as it is");
  expect(decodeText(bytes, { bad: "all" })).toEqual({ bytes });
});

test("a byte order mark decides, whatever encoding is named", () => {
  const wide = Buffer.from("\ufeffwide \u4f60\ud83d\ude00", "utf16le");
  for (const encoding of [undefined, "gbk", "utf-8"]) {
    expect(read(wide, { encoding })).toEqual(["wide \u4f60\ud83d\ude00", "utf-16le", []]);
    expect(read(Buffer.from(wide).swap16(), { encoding })).toEqual(["wide \u4f60\ud83d\ude00", "utf-16be", []]);
    expect(read(Buffer.from("\ufeffgr\u00fc"), { encoding })).toEqual(["gr\u00fc", null, []]);
  }
});

test("an encoding that is named reads texts without a mark, and is told", () => {
  expect(read(latin1("caf\xe9 \x80"), { encoding: "latin1" })).toEqual(["caf\u00e9 \u20ac", "windows-1252", []]);
  expect(read(bytesOf(0xc4, 0xe3, 0xba, 0xc3), { encoding: "GBK" })).toEqual(["\u4f60\u597d", "gbk", []]);
  expect(read(Buffer.from("hi\n", "utf16le"), { encoding: "utf-16le" })).toEqual(["hi\n", "utf-16le", []]);
  expect(read(bytesOf(0x1b, 0x24, 0x42, 0x24, 0x22), { encoding: "iso-2022-jp" })).toEqual([
    "\u3042",
    "iso-2022-jp",
    [],
  ]);
  expect(read(bytesOf(0x41, 0xff, 0x41), { encoding: "gbk" })).toBe("not gbk in 1 of 3 bytes, first on line 1");
  expect(read(bytesOf(0x41, 0xff, 0x41), { encoding: "gbk", bad: "all" })).toMatchObject([
    "A\ufffdA",
    "gbk",
    [{ kind: "byte that is not gbk", count: 1, where: ["line 1"] }],
  ]);
  // U+FFFD of the text itself is no loss.
  expect(read(Buffer.from("\ufffd", "utf16le"), { encoding: "utf-16le" })).toEqual(["\ufffd", "utf-16le", []]);
});

test("ISO-2022-JP, which is ASCII with escapes, is read and told as a guess", () => {
  const lost = [{ kind: "guessed encoding", count: 1, where: ["iso-2022-jp"] }];
  const words = "Re: \u001b$BF|K\\8l\u001b(B ok\n";
  expect(read(latin1(words))).toEqual(["Re: \u65e5\u672c\u8a9e ok\n", "iso-2022-jp", lost]);
  const far = `${"x".repeat(2 ** 20)}\n${words}`;
  expect(read(latin1(far))).toMatchObject([expect.stringMatching(/\u65e5\u672c\u8a9e ok\n$/), "iso-2022-jp", lost]);
  expect(read(latin1(words), { encoding: "utf-8" })).toEqual([words, null, []]);
  // What a terminal has, a text in UTF-8 and one that is mostly something else stay.
  for (const other of [
    "\u001b[31mred\u001b(B\u001b[m\n",
    `${words}gr\u00fcn`,
    `\u001b$B\u001b(B${"\u001b[31mred\n".repeat(9)}`,
  ]) {
    expect(read(Buffer.from(other))).toEqual([other, null, []]);
  }
});

test("bad bytes are counted, each with its line, and a line once", () => {
  const text = latin1(`ok\n${"x".repeat(500)}\xe9 \xe9\nok\n\xe2\x82`);
  expect(read(text)).toBe("not UTF-8 in 4 of 512 bytes, first on line 2");
  const lost = [{ kind: "byte that is not UTF-8", count: 4, where: ["line 2", "line 4"] }];
  expect(read(text, { bad: "few" })).toEqual([`ok\n${"x".repeat(500)}\ufffd \ufffd\nok\n\ufffd`, "utf-8", lost]);
  const own = Buffer.concat([Buffer.from("\ufffd\n".repeat(50)), bytesOf(0xff)]);
  expect(read(own, { bad: "few" })).toMatchObject([{}, "utf-8", [{ count: 1, where: [] }]]);
  const many = latin1("\xe9\n".repeat(30));
  expect(read(many, { bad: "all" })).toMatchObject([{}, "utf-8", [{ count: 30, where: { length: 20 } }]]);
});

test.each([
  [1, 9, false],
  [1, 10, true],
  [3, 30, true],
  [3, 29, false],
  [4, 399, false],
  [4, 400, true],
  [100, 10_000, true],
  [101, 10_000, false],
])("%i bad bytes of %i are few: %s", (bad, all, isTaken) => {
  const bytes = latin1("\xe9 ".repeat(bad).padEnd(all, "x")).subarray(0, all);
  expect(typeof read(bytes, { bad: "few" }) === "object").toBe(isTaken);
});

test.each([
  ["NUL", Buffer.from("a\0\0b"), "binary (NUL in the first 8 KB)"],
  [
    "random bytes without NUL",
    Buffer.from(Array.from({ length: 300 }, (_, n) => ((n * 7919) % 255) + 1)),
    "binary (control",
  ],
  ["UTF-16 without a mark", Buffer.from("hello", "utf16le"), "UTF-16LE without a byte order mark"],
  ["UTF-32 with a mark", bytesOf(0xff, 0xfe, 0, 0, 0x41, 0, 0, 0), "UTF-32LE, which `iconv` turns into UTF-8"],
  [
    "UTF-32 without a mark",
    bytesOf(...[0, 0, 0, 0x41, 0, 0, 0x20, 0xac, 0, 0, 0, 0x20, 0, 1, 0xf6, 0x00]),
    "UTF-32BE, which `iconv` turns into UTF-8",
  ],
  ["an array of numbers", bytesOf(0x89, 0x50, 0, 0, 0x41, 0, 0, 0, 0x30, 0x20, 0, 0, 0x31, 0, 1, 0), "binary (NUL"],
  ["bzip2", Buffer.from("425a683931415926535900", "hex"), "compressed by bzip2, which `bzip2 -dc` unpacks"],
  ["xz", Buffer.from("fd377a585a000004", "hex"), "compressed by xz, which `xz -dc` unpacks"],
])("%s stays binary, whatever is asked", (_, bytes, reason) => {
  for (const asked of [{}, { bad: "all" }, { encoding: "latin1" }] as const) {
    expect(read(bytes, asked)).toContain(reason);
  }
});

test.each(["utf-16le", "shift_jis", "gb18030"])(
  "a text of %s over several slices is the same as in one piece",
  (encoding) => {
    // No character ends where a slice of 1 MB does.
    const unit = {
      "utf-16le": Buffer.from("a\ud83d\ude00", "utf16le"),
      shift_jis: latin1("a\x82\xa0"),
      gb18030: latin1("\x81\x30\x81\x30a"),
    };
    const bytes = Buffer.concat(Array.from({ length: 250_000 }, () => unit[encoding as keyof typeof unit]));
    const text = new TextDecoder(encoding).decode(bytes);
    const [decoded] = read(bytes, { encoding });
    expect(decoded === text).toBe(true);
  },
);

test("a text that comes in slices is what it is in one", () => {
  const latin = fc.constantFrom(0xe9, 0xff, 0xc3, 0xa9, 0xef, 0xbf, 0xbd, 0xf0, 0x9f, 0x8e, 0x89, 0x0a, 0x41);
  const encoding = fc.constantFrom(undefined, "latin1", "gbk", "utf-16le", "iso-2022-jp", "shift_jis");
  const mark = fc.constantFrom([], [0xef, 0xbb, 0xbf], [0xff, 0xfe], [0xfe, 0xff]);
  const text = fc.array(fc.oneof(latin, fc.constant(0x61)), { maxLength: 60 });
  const cuts = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(mark, text, cuts, encoding, fc.constantFrom("none", "few", "all"), (head, tail, sizes, named, bad) => {
      const bytes = bytesOf(...head, ...tail);
      const decoding: Decoding = { encoding: named, bad };
      const known = decodeText(bytes, decoding);
      const found = surveyed(inSlices(bytes, sizes), decoding);
      expect(found).toEqual("reason" in known ? known : { ...known, bytes: Buffer.from(known.bytes) });
    }),
    { numRuns: 500 },
  );
});

/** Slices of these sizes, over and over; the first one holds any mark. */
function inSlices(bytes: Uint8Array, sizes: readonly number[]): TextBytes {
  return {
    length: bytes.length,
    *slices() {
      for (let at = 0, n = 0; at < bytes.length; n++) {
        const size = n === 0 ? 8 : (sizes[n % sizes.length] ?? 1);
        yield bytes.subarray(at, at + size);
        at += size;
      }
    },
  };
}

function surveyed(bytes: TextBytes, decoding: Decoding) {
  const work = surveyText(bytes, decoding);
  for (;;) {
    const step = work.next();
    if (!step.done) continue;
    if ("reason" in step.value) return step.value;
    const { length, pieces, ...facts } = step.value;
    const whole = Buffer.concat(Array.from(pieces(), (piece) => Buffer.from(piece)));
    expect(whole.length).toBe(length);
    return { bytes: whole, ...facts };
  }
}
