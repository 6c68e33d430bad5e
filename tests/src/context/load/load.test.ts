import { execFileSync } from "node:child_process";
import { chmodSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { SmallContext } from "../../../../src/context/context.ts";
import { load, type Source } from "../../../../src/context/load/load.ts";
import type { SmallLoadOptions } from "../../../../src/context/load/reading.ts";
import { mostOf, SMALL, tooLarge } from "../../../../src/context/load/size.ts";
import { lowerBorder } from "../../../support/low-border.ts";
import { folderWith, grow } from "../../../support/tree.ts";

const MB = 1024 * 1024;

test("a file is P as it is; its id is its name", async () => {
  const folder = folderWith({ "docs/notes.md": "# Ä\r\n\u2028x\n" });
  const context = await loadIn(folder, "docs/notes.md");
  expect(textOf(context)).toBe("# Ä\r\n\u2028x\n");
  expect(context.documents).toEqual([
    { id: "notes.md", path: join(folder, "docs/notes.md"), start: 0, end: 8, size: 8 },
  ]);
  expect(context.stats).toMatchObject({ sources: [join(folder, "docs/notes.md")], line_count: 2, length_chars: 8 });
});

test("a folder's files are sorted and each follows its separator", async () => {
  const folder = folderWith({ "b.txt": "B", "a/x.txt": "X\n", "A.txt": "" });
  const context = await loadIn(folder, ".");
  expect(textOf(context)).toBe("\n===== A.txt =====\n\n===== a/x.txt =====\nX\n\n===== b.txt =====\nB");
  expect(context.documents.map(({ id, path }) => [id, path])).toEqual(
    ["A.txt", "a/x.txt", "b.txt"].map((id) => [id, join(folder, id)]),
  );
  expect(context.documents.map(({ start, end }) => context.text.slice(start, end))).toEqual(["", "X\n", "B"]);
});

test("a load leaves documents out after half an hour, and fails after an hour", async () => {
  const folder = folderWith({ "a.txt": "A", "b.ipynb": JSON.stringify({ cells: [], nbformat: 4 }) });
  const now = vi.spyOn(performance, "now");
  onTestFinished(() => now.mockRestore());
  now.mockReturnValueOnce(0).mockReturnValue(31 * 60_000);
  const { documents, stats } = await loadIn(folder, ".");
  expect(documents.map(({ id }) => id)).toEqual(["a.txt"]);
  const reason = "was not read: the load had taken 30 min; load again to continue from here";
  expect(stats.skipped).toMatchObject({ unread: 1, files: [{ path: "b.ipynb", reason }] });
  now.mockReturnValueOnce(0).mockReturnValue(61 * 60_000);
  const message = "loading took longer than 60 min (0 files, 0.0 MB were read)";
  await expect(loadIn(folder, ".")).rejects.toMatchObject({ code: "context_too_large", message });
});

test("append: P grows by the separator and the source, the old context stays", async () => {
  const folder = folderWith({ "one/a.txt": "1", "two/a.txt": "2", "two/b.txt": "3", "c.txt": "4" });
  const first = await loadIn(folder, "one");
  const second = await load(pathSource("two"), optionsFor(folder), first);
  const third = await load(pathSource("c.txt"), optionsFor(folder), second);
  const joined = "\n===== a.txt =====\n1";
  const appended = `\n\n===== APPENDED: ${folder}/two =====\n\n\n===== a.txt =====\n2\n===== b.txt =====\n3`;
  const file = `\n\n===== APPENDED: ${folder}/c.txt =====\n\n4`;
  expect(textOf(first)).toBe(joined);
  expect(textOf(third)).toBe(joined + appended + file);
  expect(third.documents.map(({ id }) => id)).toEqual(["a.txt", "two/a.txt", "b.txt", "c.txt"]);
  expect(third.parts.map(({ bytes }) => bytes)).toEqual(
    [joined, appended, file].map((part) => Buffer.byteLength(part)),
  );
  expect(third.parts.slice(0, 2)).toEqual(second.parts);
  expect(third.stats.sources).toEqual(["one", "two", "c.txt"].map((name) => join(folder, name)));
});

test("text at hand is loaded and appended under its name", async () => {
  const options = optionsFor(folderWith());
  const first = await load({ kind: "text", text: "\ufeffpiped", name: "stdin" }, options);
  const second = await load({ kind: "text", text: Buffer.from("\ufeffmöre"), name: "stdin" }, options, first);
  expect(textOf(second)).toBe("piped\n\n===== APPENDED: stdin =====\n\nmöre");
  expect(second.documents.map(({ id, path }) => [id, path])).toEqual([
    ["stdin", "-"],
    ["stdin/stdin", "-"],
  ]);
  expect(second.stats.sources).toEqual(["stdin", "stdin"]);
  await expect(load({ kind: "text", text: Uint8Array.of(0xff), name: "stdin" }, options)).rejects.toMatchObject({
    code: "invalid_argument",
    message: "stdin cannot be loaded: not UTF-8 in 1 of 1 bytes, first on line 1",
  });
});

test("an empty file is a context with one empty document", async () => {
  const context = await loadIn(folderWith({ empty: "" }), "empty");
  expect(context.stats).toMatchObject({ length_chars: 0, line_count: 0, document_count: 1 });
});

test("byte order marks are dropped, all other bytes stay", async () => {
  const folder = folderWith({ "a.txt": "\ufeffa\r\n\ufeff", "b.txt": `${"x".repeat(8192)}\0 late NUL` });
  const context = await loadIn(folder, ".");
  const seen = context.documents.map(({ start, end }) => context.text.slice(start, end));
  expect(seen).toEqual(["a\r\n\ufeff", `${"x".repeat(8192)}\0 late NUL`]);
});

test("what a folder's load skips is reported with the reason; ignored files are not", async () => {
  const folder = folderWith(
    {
      ...{ ".gitignore": "*.log", "ignored.log": "\0", "image.png": "\x89PNG\0" },
      ...{ "latin1.txt": Uint8Array.of(0x61, 0xe9), "overlong.txt": Uint8Array.of(0xc0, 0xaf) },
      ...{ "surrogate.txt": Uint8Array.of(0xed, 0xa0, 0x80), "utf16.txt": Uint8Array.of(0xff, 0xfe, 0x61, 0x00) },
      "large.txt": "x".repeat(10 * MB + 1),
      "ok.txt": "ok",
    },
    { link: "/etc/passwd" },
  );
  execFileSync("mkfifo", [join(folder, "pipe")]);
  const context = await loadIn(folder, ".");
  const ids = context.documents.map(({ id }) => id);
  expect(ids).toEqual([".gitignore", "large.txt", "ok.txt", "utf16.txt"]);
  expect(context.stats.skipped.count).toBe(6);
  expect(Object.fromEntries(context.stats.skipped.files.map(({ path, reason }) => [path, reason]))).toEqual({
    "image.png": "binary (NUL in the first 8 KB)",
    "latin1.txt": "not UTF-8 in 1 of 2 bytes, first on line 1",
    link: "symlink that leaves the allowed roots",
    "overlong.txt": "not UTF-8 in 2 of 2 bytes, first on line 1",
    pipe: "FIFO",
    "surrogate.txt": "not UTF-8 in 3 of 3 bytes, first on line 1",
  });
});

test("a file with a few bad bytes is read and told, in a folder, by its name and as bytes; one with more is refused", async () => {
  const log = Buffer.from(`${"2024 all is well\n".repeat(20)}GET /caf\xe9\n`, "latin1");
  const folder = folderWith({ "in/a.log": log, "in/b.txt": "b", "bad.log": Buffer.from("caf\xe9 \xe9\n", "latin1") });
  const lost = [{ kind: "byte that is not UTF-8", count: 1, where: ["line 21"] }];
  const file = { id: "a.log", kind: "text", bytes: log.length, encoding: "utf-8", reader: "text/2", lost };
  const converted = { count: 1, lossy: 1, lost: { "byte that is not UTF-8": 1 }, files: [file] };
  const bytes = load({ kind: "text", text: log, name: "a.log" }, optionsFor(folder));
  for (const context of [await loadIn(folder, "in"), await loadIn(folder, "in/a.log"), await bytes]) {
    expect(context.text.slice(0, context.text.length)).toContain("GET /caf\ufffd\n");
    expect(context.stats.converted).toMatchObject(converted);
    expect(context.stats.skipped.count).toBe(0);
  }
  await expect(loadIn(folder, "bad.log")).rejects.toMatchObject({
    code: "invalid_argument",
    message: "bad.log cannot be loaded: not UTF-8 in 2 of 7 bytes, first on line 1",
  });
  const read = (path: string, documents: SmallLoadOptions["documents"]) =>
    load(pathSource(path), { ...optionsFor(folder), documents: documents ?? {} }).then(textOf);
  expect(await read("bad.log", { lossy: true })).toContain("caf\ufffd \ufffd");
  expect(await read("in/a.log", { encoding: "latin1" })).toContain("caf\u00e9");
});

test("what bzip2 and xz have packed has the line that unpacks it", async () => {
  const [xz, bz2] = ["fd377a585a000004", "425a683931415926535900"].map((hex) => Buffer.from(hex, "hex"));
  const folder = folderWith({ "a.log.xz": xz ?? "", "b.tar.bz2": bz2 ?? "", "c.txt": "c" });
  const { stats } = await loadIn(folder, ".");
  expect(stats.skipped.reasons).toEqual({ "compressed by bzip2 or xz": 2 });
  const cureOf = (path: string) => loadIn(folder, path).catch(({ suggestion }: { suggestion: string }) => suggestion);
  expect(await cureOf("a.log.xz")).toBe("Run `xz -dc a.log.xz > a.log`, then load `a.log`.");
  expect(await cureOf("b.tar.bz2")).toBe("Run `mkdir b && tar -xf b.tar.bz2 -C b`, then load `b`.");
});

test("a file that vanishes after the walk is reported, the others load", async () => {
  const folder = folderWith({ "a.txt": "a".repeat(2 * MB), "z.txt": "z" });
  const onProgress = () => rmSync(join(folder, "z.txt"), { force: true });
  const context = await load(pathSource("."), { ...optionsFor(folder), onProgress });
  expect(context.documents.map(({ id }) => id)).toEqual(["a.txt"]);
  expect(context.stats.skipped.files).toEqual([{ path: "z.txt", reason: "vanished while loading" }]);
});

// Root reads files whatever their mode.
test.skipIf(process.getuid?.() === 0)("unreadable files and folders are reported, the others load", async () => {
  const folder = folderWith({ "a.txt": "a", "shut.txt": "", "shut/x": "" });
  chmodSync(join(folder, "shut.txt"), 0);
  chmodSync(join(folder, "shut"), 0);
  const { stats } = await loadIn(folder, ".");
  chmodSync(join(folder, "shut"), 0o700);
  expect(stats.document_count).toBe(1);
  expect(stats.skipped.files.map(({ path, reason }) => [path, reason])).toEqual([
    ["shut", "cannot be read (EACCES)"],
    ["shut.txt", "cannot be read (EACCES)"],
  ]);
});

test("a single file may be larger than 10 MB and be ignored, but not binary, of another encoding, or a FIFO", async () => {
  const big = { ".gitignore": "big.txt", "big.txt": "x".repeat(11 * MB) };
  const wide = Buffer.from("wide", "utf16le");
  const folder = folderWith({ ...big, "a.bin": "\0", "b.txt": Uint8Array.of(0xe9), "wide.txt": wide });
  execFileSync("git", ["init", "--quiet", folder]);
  execFileSync("mkfifo", [join(folder, "pipe")]);
  expect((await loadIn(folder, "big.txt")).stats.length_chars).toBe(11 * MB);
  const messages = [
    ["a.bin", "binary (NUL in the first 8 KB)", "Pass UTF-8 text in a regular file"],
    ["b.txt", "not UTF-8 in 1 of 1 bytes, first on line 1", 'such as `encoding: "latin1"`, or read such bytes'],
    ["wide.txt", "UTF-16LE without a byte order mark", 'such as `encoding: "utf-16le"`'],
    ["pipe", "FIFO", "Pass UTF-8 text in a regular file"],
  ] as const;
  for (const [path, reason, cure] of messages) {
    await expect(loadIn(folder, path)).rejects.toMatchObject({
      code: "invalid_argument",
      message: `${path} cannot be loaded: ${reason}`,
      suggestion: expect.stringContaining(cure),
    });
  }
});

test("a path that is missing or outside is refused, for an append too", async () => {
  const folder = folderWith({ "in/a.txt": "a", "out/b.txt": "b" });
  const options = { roots: ["in"], cwd: folder };
  const message = "in/gone does not exist";
  await expect(load(pathSource("in/gone"), options)).rejects.toMatchObject({ code: "path_not_found", message });
  await expect(load(pathSource("in/a.txt/x"), options)).rejects.toMatchObject({ code: "path_not_found" });
  const suggestion = expect.stringContaining("add the folder to `roots`");
  await expect(load(pathSource("out"), options)).rejects.toMatchObject({ code: "path_outside_sandbox", suggestion });
  const context = await load(pathSource("in"), options);
  await expect(load(pathSource("out/b.txt"), options, context)).rejects.toMatchObject({ code: "path_outside_sandbox" });
});

test("a symlink to a file in the roots is loaded as that file, and is the source", async () => {
  const folder = folderWith({ "real.txt": "x", "d/": "" }, { "d/link.txt": "../real.txt" });
  const context = await loadIn(folder, "d/link.txt");
  expect(context.documents).toMatchObject([{ id: "real.txt", path: join(folder, "real.txt") }]);
  expect(context.stats.sources).toEqual([join(folder, "d/link.txt")]);
});

test("a folder without a file to load names what it left out", async () => {
  const folder = folderWith(
    { "e/": "", "s/a.bin": "\0", "s/.gitignore": ".gitignore\n*.log\n", "s/x.log": "" },
    { "s/loop": ".." },
  );
  const message = "e has no text file to load: it is empty";
  await expect(loadIn(folder, "e")).rejects.toMatchObject({ code: "path_not_found", message });
  await expect(loadIn(folder, "s")).rejects.toMatchObject({
    code: "path_not_found",
    message:
      "s has no text file to load: 2 skipped (a.bin: binary (NUL in the first 8 KB); " +
      "loop: symlink to a folder above it), 2 ignored by .gitignore",
  });
});

test("a small context has at most 10,000 files and 100 MB", () => {
  expect(SMALL).toEqual({ files: 10_000, bytes: 100 * MB });
});

test("more files than the limit are too many, also over several loads", async () => {
  onTestFinished(lowerBorder(1000));
  const texts = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`a/${index}`, "x"]));
  const folder = folderWith({ ...texts, "b/1": "x", "b/2": "x", "a/image.png": "\0" });
  const full = await loadIn(folder, "a");
  expect(full.stats.document_count).toBe(1000);
  await expect(loadIn(folder, ".")).rejects.toMatchObject({
    code: "context_too_large",
    message: ". makes the context too large: 1,002 files (limit 1,000)",
    suggestion: expect.stringContaining("Most files: a/ 1,000, b/ 2."),
  });
  const counts = { b: "1,002", "b/1": "1,001" };
  for (const [path, count] of Object.entries(counts)) {
    await expect(load(pathSource(path), optionsFor(folder), full)).rejects.toMatchObject({
      code: "context_too_large",
      message: `${path} makes the context too large: ${count} files (limit 1,000)`,
    });
  }
  expect(full.stats.document_count).toBe(1000);
});

test("more bytes than the limit are too much: separators count, skipped files do not, and the message has the real size", async () => {
  onTestFinished(lowerBorder(1000, 10 * MB));
  const nine = "x".repeat(0.9 * MB);
  const folder = folderWith({
    "p/image.png": "\0".repeat(0.9 * MB),
    "q/x.txt": nine,
    "file.txt": "\n".repeat(1.4 * MB),
  });
  for (let index = 0; index < 10; index++) grow(folder, { [`p/${index}.txt`]: nine });
  const ninety = await loadIn(folder, "p");
  expect(ninety.stats.skipped.count).toBe(1);
  await expect(load(pathSource("file.txt"), optionsFor(folder), ninety)).rejects.toMatchObject({
    code: "context_too_large",
    message: "file.txt makes the context too large: 10.4 MB > 10 MB",
  });
  grow(folder, { "p/10.txt": nine, "p/11.txt": nine });
  await expect(loadIn(folder, ".")).rejects.toMatchObject({
    code: "context_too_large",
    message: ". makes the context too large: 13.1 MB > 10 MB",
    suggestion: expect.stringContaining("Most bytes: p/ 10.8 MB, file.txt 1.4 MB, q/ 0.9 MB."),
  });
});

test("of a folder without folders the cure names what can be loaded instead", () => {
  const shares = (size: { files: number; bytes: number }) =>
    new Map(["a.log", "b.log"].map((name, index) => [name, { files: size.files, bytes: size.bytes / (index + 1) }]));
  const most = mostOf({ texts: async () => "/texts" });
  const tooMany = tooLarge("logs", { files: 12_000, bytes: 1 }, most, shares({ files: 1, bytes: 1 }));
  expect(tooMany.suggestion).toBe(
    "Allow so many with `maxFiles: 14000`: its text then takes 0.0 MB of disk. Or: Join its files into fewer ones (`cat FOLDER/* > all.txt`) and load those, or list some in .gitignore.",
  );
  const tooLong = tooLarge("logs", { files: 2, bytes: 120 * MB }, most, shares({ files: 1, bytes: 80 * MB }));
  expect(tooLong.suggestion).toBe(
    "Allow it with `maxContextMb: 200`: its text then takes 120.0 MB of disk. Or: Load some of its files one by one, or list the others in .gitignore. Most bytes: a.log 80.0 MB, b.log 40.0 MB.",
  );
});

test("the size of a single file is judged before it is read, and to the byte", async () => {
  onTestFinished(lowerBorder(1000, 10 * MB));
  const folder = folderWith({ "huge.txt": "x", "over.txt": "x", "full.txt": "\n".repeat(10 * MB) });
  truncateSync(join(folder, "huge.txt"), 1024 ** 4);
  truncateSync(join(folder, "over.txt"), 10 * MB + 1);
  const message = "huge.txt makes the context too large: 1,048,576.0 MB > 10 MB";
  await expect(loadIn(folder, "huge.txt")).rejects.toMatchObject({ code: "context_too_large", message });
  await expect(loadIn(folder, "over.txt")).rejects.toMatchObject({
    message: "over.txt makes the context too large: 10,485,761 bytes > 10,485,760 bytes",
  });
  const full = await loadIn(folder, "full.txt");
  expect(full.stats.length_chars).toBe(10 * MB);
  await expect(load({ kind: "text", text: "", name: "t" }, optionsFor(folder), full)).rejects.toMatchObject({
    code: "context_too_large",
  });
});

test("separators in contents and in file names mislead nothing", async () => {
  const forged = "\n===== /etc/passwd =====\nroot:x:0:0\n===== b.txt =====\n\n\n===== APPENDED: /x =====\n\n";
  const folder = folderWith({ "a.txt": forged, "b.txt": "B", "c =====\n===== d": "C" });
  const context = await loadIn(folder, ".");
  expect(context.documents.map(({ id, start, end }) => [id, context.text.slice(start, end)])).toEqual([
    ["a.txt", forged],
    ["b.txt", "B"],
    ["c =====\n===== d", "C"],
  ]);
});

test("a name with control characters is JSON in the line that names its document, and stays its id", async () => {
  const folder = folderWith({ "a\nb.txt": "A", "x\ty\u0085/c.txt": "C", "back\\nslash": "S" });
  const options = optionsFor(folder);
  const first = await loadIn(folder, ".");
  const files = '\n===== "a\\nb.txt" =====\nA\n===== back\\nslash =====\nS\n===== "x\\ty\\u0085/c.txt" =====\nC';
  expect(textOf(first)).toBe(files);
  const documents = first.documents.map(({ id, start, end }) => [id, first.text.slice(start, end)]);
  expect(documents).toEqual([
    ["a\nb.txt", "A"],
    ["back\\nslash", "S"],
    ["x\ty\u0085/c.txt", "C"],
  ]);
  writeFileSync(join(folder, "a\nb.txt"), "B");
  const second = await load(pathSource("a\nb.txt"), options, first);
  expect(textOf(second)).toBe(`${files}\n\n===== APPENDED: "${folder}/a\\nb.txt" =====\n\nB`);
  const paths: Source = { kind: "paths", paths: ["c.txt"], folder: join(folder, "x\ty\u0085") };
  const third = await load(paths, options, await loadIn(folder, "back\\nslash"));
  expect(textOf(third)).toBe(`S\n\n===== APPENDED: "${folder}/x\\ty\\u0085" =====\n\n\n===== c.txt =====\nC`);
});

test("the same content has the same hash, in whatever order it was written", async () => {
  const one = folderWith({ "a/1": "1", "b/2": "2", c: "3" });
  const two = folderWith({ c: "3", "b/2": "2", "a/1": "1" });
  expect((await loadIn(two, ".")).hash).toBe((await loadIn(one, ".")).hash);
  writeFileSync(join(two, "c"), "4");
  expect((await loadIn(two, ".")).hash).not.toBe((await loadIn(one, ".")).hash);
});

test("progress is told while reading", async () => {
  const folder = folderWith(
    Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`${index + 100}`, "x".repeat(1000)])),
  );
  const seen: { files: number; bytes: number }[] = [];
  await load(pathSource("."), { ...optionsFor(folder), onProgress: (progress) => seen.push(progress) });
  expect(seen.length).toBeGreaterThan(3);
  expect(seen.length).toBeLessThan(20);
  expect(seen.map(({ files }) => files)).toEqual(seen.map(({ files }) => files).sort((a, b) => a - b));
});

test("an abort before or between files rejects with cancelled", async () => {
  const folder = folderWith({ "a.txt": "a".repeat(3 * MB), "b.txt": "b".repeat(3 * MB) });
  const options = optionsFor(folder);
  await expect(load(pathSource("."), { ...options, signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: "cancelled",
  });
  const controller = new AbortController();
  const onProgress = () => controller.abort();
  const cancelled = load(pathSource("."), { ...options, signal: controller.signal, onProgress });
  await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
});

function loadIn(folder: string, path: string): Promise<SmallContext> {
  return load(pathSource(path), optionsFor(folder));
}

function pathSource(path: string): Source {
  return { kind: "path", path };
}

function optionsFor(folder: string): SmallLoadOptions {
  return { roots: [folder], cwd: folder };
}

function textOf({ text }: SmallContext): string {
  return text.slice(0, text.length);
}
