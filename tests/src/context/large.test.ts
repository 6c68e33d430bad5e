import { hash } from "node:crypto";
import { appendFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Context, ContextFile, SmallContext } from "../../../src/context/context.ts";
import { gather } from "../../../src/context/large.ts";
import { load } from "../../../src/context/load/load.ts";
import type { LoadOptions } from "../../../src/context/load/reading.ts";
import { inFiles } from "../../support/large-context.ts";
import { lowerBorder } from "../../support/low-border.ts";
import { folderWith, grow } from "../../support/tree.ts";
import { zip } from "../documents/packed.ts";

const MB = 2 ** 20;
const source = (path: string) => ({ kind: "path", path }) as const;

test("a file over the border is a context in files, with the facts that a small one has", async () => {
  onTestFinished(lowerBorder(1000, 10 * MB));
  const folder = folderWith({ "small.log": "first\n" });
  const line = "2024-05-01 déployé 🎉 ok\n";
  const bytes = Buffer.from(line.repeat(Math.ceil((10 * MB) / Buffer.byteLength(line))));
  writeFileSync(join(folder, "big.log"), bytes);
  const options = optionsFor(folder);
  const context = await load(source("big.log"), options);
  const { text } = context;
  expect(text.large).toBeDefined();
  expect(text.bytes).toBe(bytes.length);
  expect(text.length).toBe((bytes.length / Buffer.byteLength(line)) * line.length);
  expect(context).toMatchObject({
    hash: hash("sha256", bytes),
    parts: [{ hash: hash("sha256", bytes), bytes: bytes.length }],
    stats: { document_count: 1, line_count: bytes.length / Buffer.byteLength(line), length_chars: text.length },
  });
  expect([...context.documents]).toEqual([
    { id: "big.log", path: join(folder, "big.log"), start: 0, end: text.length, size: text.length },
  ]);
  expect(text.slice(text.length - line.length, text.length)).toBe(line);
  // An append to a small context keeps a file for each part, and the small one stays what it is.
  const small = await load(source("small.log"), options);
  const both = await load(source("big.log"), options, small);
  const lead = `\n\n===== APPENDED: ${join(folder, "big.log")} =====\n\n`;
  expect(both.text.slice(0, 6 + lead.length + line.length)).toBe(`first\n${lead}${line}`);
  const parts = [hash("sha256", "first\n"), hash("sha256", Buffer.concat([Buffer.from(lead), bytes]))];
  expect(both.parts.map((part) => part.hash)).toEqual(parts);
  expect(readdirSync(options.folder)).toEqual(expect.arrayContaining(parts));
  expect([...both.documents].map(({ id, start }) => [id, start])).toEqual([
    ["small.log", 0],
    ["big.log", 6 + lead.length],
  ]);
  expect(small.text.large).toBeUndefined();
  // What is put behind a large context writes its own part alone.
  writeFileSync(join(folder, "small.log"), "second\n");
  const files = new Set(readdirSync(options.folder));
  const third = await load(source("small.log"), options, both);
  const written = readdirSync(options.folder).filter((name) => !files.has(name));
  const { hash: added, bytes: addedBytes } = third.parts.at(-1) ?? { hash: "", bytes: 0 };
  expect(written).toHaveLength(2);
  expect(written).toContain(added);
  expect(addedBytes).toBe(Buffer.byteLength(`\n\n===== APPENDED: ${join(folder, "small.log")} =====\n\nsecond\n`));
  expect(third.stats).toMatchObject({ replaced: 1, document_count: 3 });
  expect([...third.documents][0]).toMatchObject({ id: "small.log", replaced_by: "small.log/small.log" });
  expect(leftIn(options.folder)).toEqual([]);
  for (const { text: one } of [context, both, third]) one[Symbol.dispose]();
});

test.each([
  { name: "of as many bytes as the border", bytes: 10 * MB, documents: 1 },
  { name: "of as many documents", bytes: 1, documents: 1000 },
])("a context $name is small, and one byte or document more makes it large", async ({ bytes, documents }) => {
  onTestFinished(lowerBorder(1000, 10 * MB));
  const folder = folderWith();
  const files = Array.from({ length: documents }, (_, n) => fileOf(`${n}.txt`, bytes));
  const gathered = async (all: readonly ContextFile[]) => {
    using gathering = gather(undefined, {
      name: "/s",
      texts: async () => folder,
      pause: async () => {},
      ownsBytes: true,
    });
    for (const file of all) await gathering.add(file);
    const context = await gathering.end([]);
    onTestFinished(() => context.text[Symbol.dispose]());
    return context;
  };
  const small = await gathered(files);
  expect(small.text.large).toBeUndefined();
  const large = await gathered([...files, fileOf("one.txt", 1)]);
  expect(large.text.large).toBeDefined();
  expect(large.text.bytes).toBe(small.text.bytes + 1);
  expect(large.stats).toMatchObject({ document_count: documents + 1, length_chars: small.text.length + 1 });
  expect(large.hash).toBe(hash("sha256", Buffer.alloc(large.text.bytes, "x")));
});

/** A file whose bytes are made when they are asked for. */
function fileOf(relative: string, length: number): ContextFile {
  const pieces = function* () {
    for (let at = 0; at < length; at += MB) yield Buffer.alloc(Math.min(MB, length - at), "x");
  };
  return { relative, path: `/s/${relative}`, separator: Buffer.alloc(0), bytes: { length, pieces } };
}

test("appends to a context in files give what they give to the same one in memory", async () => {
  const page = (heading: string) => `<html><body><h1>${heading}</h1><p>text</p></body></html>`;
  const folder = folderWith({
    "docs/a.txt": "a\n",
    "docs/b.txt": "bé🎉",
    "docs/page.html": page("One"),
    "docs/AGENTS.md": "- [A](a.txt) — the first\n",
    "docs/image.png": "\x89PNG\0",
    "more/AGENTS.md": "- [Page](page.html) — one page\n",
    "more/all.zip": zip([
      { name: "x.txt", data: "the first of an archive" },
      { name: "y.txt", data: "the second of it" },
    ]),
  });
  const options = optionsFor(folder);
  const memory = await load(source("docs"), { roots: [folder], cwd: folder });
  const files = inFiles(memory, options.folder);
  expect(await load(source("docs"), options, files)).toBe(files);
  grow(folder, { "docs/b.txt": "changed\n", "docs/page.html": page("Two"), "docs/new.bin": "\0", "docs/z.txt": "Z" });
  let small: SmallContext = memory;
  let large: Context = files;
  for (const path of ["docs", "more", "docs/b.txt", "docs"]) {
    small = await load(source(path), { roots: [folder], cwd: folder }, small);
    large = await load(source(path), options, large);
    expect(large.text.large).toBeDefined();
    expect(large.text.slice(0, large.text.length)).toBe(small.text.slice(0, small.text.length));
    expect([...large.documents]).toEqual(small.documents);
    expect(large.routes).toEqual(small.routes);
    expect(large.skips).toEqual(small.skips);
    expect({ ...large.stats, context_hash: small.hash }).toMatchObject(small.stats);
    expect(large.parts).toEqual(small.parts);
  }
  expect(small.stats).toMatchObject({ replaced: 2, converted: { count: 2 }, skipped: { count: 2 } });
  expect(leftIn(options.folder)).toEqual([]);
});

test("a file that is read in pieces must stay as it is, but that it may grow", async () => {
  const folder = folderWith();
  const options = optionsFor(folder);
  const before = inFiles(
    await load({ kind: "text", text: "first", name: "t" }, { roots: [], cwd: folder }),
    options.folder,
  );
  const path = join(folder, "a.log");
  const text = "a line of a log\n".repeat(540_000);
  /** Loads the file, which is changed at a report: two come while it is looked through, others while it is copied. */
  const changing = (at: number, change: () => void) => {
    writeFileSync(path, text);
    let reports = 0;
    const onProgress = () => {
      reports += 1;
      if (reports === at) change();
    };
    return load(source("a.log"), { ...options, onProgress }, before);
  };
  const other = { code: "path_not_found", message: expect.stringMatching(/a\.log was changed while it was loaded$/) };
  await expect(changing(5, () => writeFileSync(path, text.toUpperCase()))).rejects.toMatchObject(other);
  await expect(changing(5, () => writeFileSync(path, "short"))).rejects.toMatchObject(other);
  await expect(changing(2, () => rmSync(path))).rejects.toMatchObject(other);
  const grown = await changing(5, () => appendFileSync(path, "one more\n"));
  expect(grown.text.slice(grown.text.length - text.length, grown.text.length)).toBe(text);
  grown.text[Symbol.dispose]();
  // An abort leaves nothing either.
  const stop = new AbortController();
  const stopped = load(source("a.log"), { ...options, signal: stop.signal, onProgress: () => stop.abort() }, before);
  await expect(stopped).rejects.toMatchObject({ code: "cancelled" });
  expect(leftIn(options.folder)).toEqual([]);
});

test("large texts of other encodings, with marks and with bad bytes are read as small ones are", async () => {
  const words = "Grüße aus Köln, and a price of 5 €\n".repeat(220_000);
  const bad = Buffer.concat([Buffer.from(words), Buffer.from([0xff]), Buffer.from(`\n${words.slice(0, 35_000)}`)]);
  const folder = folderWith({
    "bad.log": bad,
    "mark.txt": Buffer.from(`\ufeff${words}`),
    "wide.txt": Buffer.from(`\ufeff${words}`, "utf16le"),
    "worse.log": Buffer.from(`${"x".repeat(50)}é\n`.repeat(165_000), "latin1"),
  });
  const options = optionsFor(folder);
  const first = inFiles(
    await load({ kind: "text", text: "first", name: "t" }, { roots: [], cwd: folder }),
    options.folder,
  );
  const small = await load(source("."), { roots: [folder], cwd: folder });
  const large = await load(source("."), options, first);
  expect([...large.documents].slice(1).map(({ id, size, original, lost }) => ({ id, size, original, lost }))).toEqual(
    small.documents.map(({ id, size, original, lost }) => ({ id, size, original, lost })),
  );
  expect(large.stats).toMatchObject({ converted: small.stats.converted, skipped: small.stats.skipped });
  expect(small.stats.skipped.files).toEqual([{ path: "worse.log", reason: expect.stringMatching(/^not UTF-8 in /) }]);
  const both = [small, large].map(({ text, documents }) => {
    const { start = 0, end = 0 } = [...documents].at(-1) ?? {};
    return hash("sha256", text.read(text.byteAt(start), text.byteAt(end)));
  });
  expect(both[1]).toBe(both[0]);
  // By its name it is read as in its folder.
  const named = await load(source("bad.log"), options, first);
  expect(named.stats.converted).toMatchObject({ count: 1, lost: { "byte that is not UTF-8": 1 } });
  await expect(load(source("worse.log"), options, first)).rejects.toMatchObject({ code: "invalid_argument" });
  for (const { text } of [large, named]) text[Symbol.dispose]();
});

/** Files in the folder of texts that were not written to their end. */
const leftIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith(".tmp"));

function optionsFor(folder: string): LoadOptions & { readonly folder: string } {
  const texts = folderWith();
  return {
    roots: [folder],
    cwd: folder,
    most: { files: 1_000_000, bytes: 16_384 * MB },
    texts: async () => texts,
    folder: texts,
  };
}
