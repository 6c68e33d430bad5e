import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test, vi } from "vitest";
import { openKnownLoads } from "../../../src/context/load/known-loads.ts";
import { load } from "../../../src/context/load/load.ts";
import { convert } from "../../../src/documents/convert.ts";
import type { DocumentOptions } from "../../../src/documents/kinds.ts";
import { openKeptTexts, textKey } from "../../../src/documents/read.ts";
import { entryUrl, useEntriesOf } from "../../../src/entries.ts";
import { canMount, fillBut, smallDisk } from "../../support/small-disk.ts";
import { folderWith } from "../../support/tree.ts";
import { ORIGINALS, scan } from "./originals.ts";
import { pdf } from "./packed.ts";
import { useReader } from "./reader.ts";

const report = ORIGINALS["report.pdf"]?.() ?? Buffer.alloc(0);

async function textIn(cwd: string, documents: DocumentOptions, path = "."): Promise<string> {
  const { text } = await load({ kind: "path", path }, { cwd, roots: [cwd], documents });
  return text.slice(0, text.length);
}

const SOURCES = new URL("../", entryUrl("documents/child-entry"));
const texts = (dir: string) => readdirSync(dir).filter((name) => name.startsWith("text-"));

test("a document is converted once, whatever its name: then no reader is started", async () => {
  const cwd = folderWith({ "a.pdf": report, "scan.pdf": scan(), "all.txt": "a" });
  const keptIn = join(folderWith(), "index");
  const first = await textIn(cwd, { keptIn }, "a.pdf");
  await textIn(cwd, { keptIn });
  expect(texts(keptIn)).toHaveLength(2);
  expect(texts(keptIn).map((name) => statSync(join(keptIn, name)).mode & 0o777)).toEqual([0o600, 0o600]);
  useReader("process.exit(3)");
  const moved = folderWith({ "other name.pdf": report });
  expect(await textIn(moved, { keptIn }, "other name.pdf")).toBe(first);
  expect(await textIn(cwd, { keptIn })).toContain(first);
  await expect(textIn(moved, {}, "other name.pdf")).resolves.toBe(first);
});

test("what is packed by itself is read by its name", async () => {
  const page = gzipSync("<h1>Big</h1>");
  const cwd = folderWith({ "a.html.gz": page, "a.txt.gz": page });
  const keptIn = folderWith();
  expect(await textIn(cwd, { keptIn }, "a.html.gz")).toBe("# Big\n\n");
  expect(await textIn(cwd, { keptIn }, "a.txt.gz")).toBe("<h1>Big</h1>");
});

test("what is packed is decoded anew for another encoding", async () => {
  const cwd = folderWith({ "a.txt.gz": gzipSync(Buffer.from("gr\xfc\xdfe", "latin1")) });
  const keptIn = folderWith();
  expect(await textIn(cwd, { keptIn, encoding: "latin1" }, "a.txt.gz")).toBe("gr\u00fc\u00dfe");
  expect(await textIn(cwd, { keptIn, encoding: "koi8-r" }, "a.txt.gz")).toBe("gr\u042d\u044ae");
  expect(await textIn(cwd, { keptIn, lossy: true }, "a.txt.gz")).toBe("gr\ufffd\ufffde");
});

test("a text that was changed on disk does not count", async () => {
  const cwd = folderWith({ "a.pdf": report });
  const keptIn = folderWith();
  const first = await textIn(cwd, { keptIn }, "a.pdf");
  const [name = ""] = texts(keptIn);
  const bytes = readFileSync(join(keptIn, name));
  bytes.write("evil", bytes.length - 4);
  writeFileSync(join(keptIn, name), bytes);
  expect(await textIn(cwd, { keptIn }, "a.pdf")).toBe(first);
});

test("the oldest texts go when all take too much, and what is used stays", async () => {
  const dir = folderWith();
  const { find, keep } = openKeptTexts(dir, 3000);
  const keys = await Promise.all(["a", "b", "c"].map((name) => textKey([name], [])));
  // A killed process has left the first one, and this process still writes the other.
  const half = [4194304, process.pid].map((pid) => `text-${"f".repeat(64)}.${pid}`);
  for (const name of half) writeFileSync(join(dir, name), "half");
  const answer = { isArchive: false, refused: [], texts: [{ name: "a", text: Buffer.alloc(1000, "x") }] };
  for (const [n, key] of keys.slice(0, 2).entries()) {
    await keep(key, answer);
    utimesSync(join(dir, `text-${key}`), n + 1, n + 1);
  }
  expect(await find(keys[0] ?? "")).toEqual(answer);
  await keep(keys[2] ?? "", answer);
  const found = await Promise.all(keys.map(find));
  expect(found.map((one) => one !== undefined)).toEqual([true, false, true]);
  expect(half.map((name) => existsSync(join(dir, name)))).toEqual([false, true]);
});

/** A reader that gives this answer without a look at the document. */
const answering = (answer: object) => `
  await import("./guard-entry.js");
  process.stdin.once("data", () => {
    const json = Buffer.from(${JSON.stringify(JSON.stringify(answer))});
    const lengths = Buffer.alloc(8);
    lengths.writeUInt32BE(json.length);
    process.stdout.write(Buffer.concat([lengths, json]));
  });`;

test.each([
  ["ends", "process.exit(3)"],
  [
    "could not run",
    answering({
      isArchive: false,
      texts: [],
      refused: [
        { name: "a.pdf", reason: "reader_failed", problem: "cannot be read: its reader could not run (EACCES)" },
      ],
    }),
  ],
])("a document whose reader %s is read by the next load", async (_how, code) => {
  const cwd = folderWith({ "a.db": ORIGINALS["shop.db"]?.() ?? "", "b.txt": "b" });
  const dir = folderWith();
  const known = { loads: openKnownLoads(dir), now: () => Date.now() + 1e6, open: () => Promise.reject("reused") };
  const loaded = () => load({ kind: "path", path: "." }, { cwd, roots: [cwd], documents: { keptIn: dir }, known });
  useReader(code);
  const { stats } = await loaded();
  expect(stats.skipped.files).toMatchObject([{ path: "a.db", reason: /^cannot be read: its reader/ }]);
  useEntriesOf(SOURCES);
  expect((await loaded()).stats.skipped.files).toEqual([]);
});

test("a failure of the reader's own code is none of the document", async () => {
  const pages = pdf(...Array.from({ length: 20 }, (_, n) => [`page ${n + 1}`]));
  const job = { name: "a.pdf", kind: "pdf", plain: [], room: 2 ** 20, decoding: { bad: "none" } } as const;
  const fails = () => {
    throw Object.assign(new Error("Access to this API has been restricted"), { code: "ERR_ACCESS_DENIED" });
  };
  expect(await convert(pages, job, fails)).toMatchObject({
    refused: [{ reason: "reader_failed", problem: "cannot be read: its reader could not run (ERR_ACCESS_DENIED)" }],
  });
});

test("a database that cannot be copied is skipped, and the reason is told", async () => {
  const cwd = folderWith({ "a.txt": "a", "shop.db": ORIGINALS["shop.db"]?.() ?? "" });
  const nowhere = join(cwd, "a.txt");
  vi.stubEnv("TMPDIR", nowhere);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { stats } = await load({ kind: "path", path: "." }, { cwd, roots: [cwd] });
  expect(stats.skipped.files).toEqual([{ path: "shop.db", reason: `cannot be copied to ${nowhere} (ENOTDIR)` }]);
});

test("a full disk: a document whose text is not kept loads, a database is refused by name, and nothing half stays (needs root to mount)", async ({
  skip,
}) => {
  skip(!canMount(), "no file system can be mounted");
  const disk = smallDisk(256 * 1024);
  const cwd = folderWith({ "a.html": "<p>word</p>".repeat(2000), "shop.db": ORIGINALS["shop.db"]?.() ?? "" });
  const keptIn = join(disk, "index");
  const whole = await textIn(cwd, {}, "a.html");
  const left = (folder: string) => readdirSync(folder, { recursive: true }).filter((name) => name !== "filler");
  vi.stubEnv("TMPDIR", disk);
  onTestFinished(() => void vi.unstubAllEnvs());
  // In one page of memory each file fits in part.
  for (const pages of [0, 1]) {
    fillBut(disk, pages * 4096);
    expect(await textIn(cwd, { keptIn }, "a.html")).toBe(whole);
    expect(left(disk)).toEqual(["index"]);
    const problem = `cannot be copied to ${disk} (ENOSPC)`;
    const { stats } = await load({ kind: "path", path: "." }, { cwd, roots: [cwd] });
    expect(stats.skipped.files).toEqual([{ path: "shop.db", reason: problem }]);
    await expect(textIn(cwd, {}, "shop.db")).rejects.toMatchObject({
      ...{ code: "document_unreadable", message: `shop.db ${problem}` },
      suggestion: "Make room there, or set TMPDIR to another folder.",
    });
    expect(left(disk)).toEqual(["index"]);
    rmSync(join(disk, "filler"));
  }
  expect(await textIn(cwd, { keptIn }, "a.html")).toBe(whole);
  expect(texts(keptIn)).toHaveLength(1);
});

test("a folder that cannot be written only means that documents are read again", async () => {
  const keptIn = join(folderWith({ file: "" }), "file");
  expect(await textIn(folderWith({ "a.pdf": report }), { keptIn }, "a.pdf")).toContain("Annual report");
});

test("a load is known again only by the same readers", async () => {
  const cwd = folderWith({ "a.pdf": report });
  const dir = folderWith();
  mkdirSync(dir, { recursive: true });
  let opened = 0;
  const loadBy = async (documents: DocumentOptions) => {
    const known = {
      loads: openKnownLoads(dir),
      now: () => Date.now() + 60_000,
      open: async () => {
        opened += 1;
        return null;
      },
    };
    await load({ kind: "path", path: "." }, { cwd, roots: [cwd], known, documents });
  };
  await loadBy({});
  await loadBy({});
  expect(opened).toBe(1);
  await loadBy({ convert: { pdf: ["cat", "{}"] } }).catch(() => {});
  await loadBy({ raw: true }).catch(() => {});
  expect(opened).toBe(1);
});
