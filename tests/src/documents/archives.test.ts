import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import type { SmallContext } from "../../../src/context/index.ts";
import { load } from "../../../src/context/load/load.ts";
import { folderWith } from "../../support/tree.ts";
import { tar, zip } from "./packed.ts";

async function loaded(tree: Readonly<Record<string, Uint8Array | string>>, path = "."): Promise<SmallContext> {
  const cwd = folderWith(tree);
  return load({ kind: "path", path }, { cwd, roots: [join(cwd, path)] });
}

const textOf = ({ text }: SmallContext) => text.slice(0, text.length);

test("all frames of a Zstandard file are read", async () => {
  const skipped = Buffer.from("502a4d180400000001020304", "hex");
  const log = Buffer.concat([skipped, zstdCompressSync("one\n"), zstdCompressSync("two\n"), skipped]);
  expect(textOf(await loaded({ "a.log.zst": log }, "a.log.zst"))).toBe("one\ntwo\n");
  const cut = log.subarray(0, log.length - skipped.length - 3);
  const { stats, text } = await loaded({ "a.log.zst": cut }, "a.log.zst");
  expect(text.slice(0, 4)).toBe("one\n");
  expect(stats.converted?.lost).toEqual({ "rest of a file that is cut off": 1 });
});

test("a symlink in a zip is skipped, as one in a tar is", async () => {
  const archive = zip([
    { name: "link", data: "/etc/passwd", mode: 0o120777 },
    { name: "a.txt", data: "a" },
  ]);
  const { stats, documents } = await loaded({ "a.zip": archive });
  expect(documents.map(({ id }) => id)).toEqual(["a.zip/a.txt"]);
  expect(stats.skipped.files).toEqual([{ path: "a.zip/link", reason: "a link or a special file" }]);
});

test("a member of a zip that is packed by a method that is not read says which, and how it is unpacked", async () => {
  const methods = { deflate64: 9, bzip2: 12, lzma: 14, zstd: 93, xz: 95, "98": 98 };
  const members = Object.entries(methods).map(([name, method]) => ({ name, data: name, method }));
  const { stats } = await loaded({ "a.zip": zip([...members, { name: "a.txt", data: "a" }]) });
  const reasonOf = (name: string) => `packed by a method that is not read (${name}): \`7z x\` unpacks it`;
  const told = stats.skipped.files.map(({ path, reason }) => [path.replace("a.zip/", ""), reason]);
  expect(told.sort()).toEqual(
    Object.keys(methods)
      .map((name) => [name, reasonOf(name)])
      .sort(),
  );
  expect(stats.skipped).toMatchObject({ unread: 6, reasons: { "packed by a method that is not read": 6 } });
  await expect(loaded({ "b.zip": zip(members) }, "b.zip")).rejects.toMatchObject({
    suggestion: "Unpack the archive with `7z x`, and load that folder.",
  });
});

/** A fact about the next member of a tar, behind the number of its bytes: a space and a line break are two of them. */
function record(fact: string): string {
  const length = Buffer.byteLength(fact) + 2;
  return `${String(length).length + length} ${fact}\n`;
}

test("names of a tar are whole: with line breaks, and without the times of GNU tar", async () => {
  const facts = `${record("comment=x\n19 path=forged.txt")}${record("path=two\nlines.txt")}`;
  const members = [
    { name: "x", data: facts, type: "x" },
    { name: "cut", data: "a" },
    { name: "b.txt", data: "b", magic: "ustar  \0", prefix: "15303236167" },
  ];
  const { documents, stats } = await loaded({ "a.tar": tar(members) });
  expect(documents.map(({ id }) => id)).toEqual(["a.tar/b.txt"]);
  expect(stats.skipped.files.map(({ path }) => path)).toEqual(["a.tar/two lines.txt"]);
});

test("a sparse file of a tar is told by its own name, and a folder of an incremental one is none", async () => {
  const members = [
    { name: "x", data: record("GNU.sparse.major=1") + record("GNU.sparse.name=log.txt"), type: "x" },
    { name: "GNUSparseFile.7/log.txt", data: "1\n0\n512\n" },
    { name: "dir/", data: "Ya.txt\0\0", type: "D" },
    { name: "old.txt", data: "a", type: "S" },
    { name: "a.txt", data: "a" },
  ];
  const { documents, stats } = await loaded({ "a.tar": tar(members) });
  expect(documents.map(({ id }) => id)).toEqual(["a.tar/a.txt"]);
  const reason = "a sparse file, of which the archive has parts";
  expect(stats.skipped.files).toEqual([
    { path: "a.tar/log.txt", reason },
    { path: "a.tar/old.txt", reason },
  ]);
  expect(stats.skipped.unread).toBe(2);
});

test("a tar of before 1988 and one that begins with the label of a volume are read", async () => {
  const old = [
    { name: "dir/", magic: "", type: "\0" },
    { name: "dir/a.txt", data: "a", magic: "", type: "\0" },
  ];
  const labelled = [
    { name: "backup of May", magic: "", type: "V" },
    { name: "b.txt", data: "b", magic: "ustar  \0" },
  ];
  const files = { "old.tar": tar(old), "label.tgz": gzipSync(tar(labelled)) };
  const { documents, stats } = await loaded(files);
  expect(documents.map(({ id }) => id)).toEqual(["label.tgz/b.txt", "old.tar/dir/a.txt"]);
  expect(stats.skipped.files).toEqual([]);
  const wrong = tar(old);
  wrong[0] = 0x65;
  await expect(loaded({ "wrong.tar": wrong })).rejects.toMatchObject({ message: expect.stringContaining("binary") });
});

test("an archive behind the end of another one is told", async () => {
  const two = Buffer.concat([tar([{ name: "a.txt", data: "a" }]), tar([{ name: "b.txt", data: "b" }])]);
  const { stats } = await loaded({ "a.tgz": gzipSync(two) });
  expect(stats.document_count).toBe(1);
  expect(stats.skipped.files).toEqual([
    { path: "a.tgz/(the rest)", reason: "it stands behind the end of the archive" },
  ]);
});

/** A database whose second row is in its log alone. */
function logged(): { readonly database: Buffer; readonly log: Buffer } {
  const path = join(folderWith(), "a.db");
  using database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode=wal; CREATE TABLE t(a); INSERT INTO t VALUES ('one')");
  database.exec("PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO t VALUES ('two')");
  return { database: readFileSync(path), log: readFileSync(`${path}-wal`) };
}

test("a database that is named has the rows of its log, as one in a folder has", async () => {
  const { database, log } = logged();
  const tree = { "a.db": database, "a.db-wal": log };
  expect(textOf(await loaded(tree, "a.db"))).toBe("[t]\na\none\ntwo\n");
  expect(textOf(await loaded(tree))).toContain("[t]\na\none\ntwo\n");
});

test("a log or journal of a database that is not read is a loss", async () => {
  const { database, log } = logged();
  const cwd = folderWith({ "a.db": database, "b.db": database, "c.db": database, log: log });
  symlinkSync("log", join(cwd, "a.db-wal"));
  writeFileSync(join(cwd, "b.db-journal"), Buffer.from("d9d505f920a163d700000000", "hex"));
  writeFileSync(join(cwd, "c.db-journal"), Buffer.alloc(12));
  const lossesOf = async (path: string) => {
    const { stats } = await load({ kind: "path", path }, { cwd, roots: [join(cwd, path)] });
    return stats.converted?.files.map(({ lost }) => lost);
  };
  const lost = (file: string) => [[{ kind: "unread log", count: 1, where: [file] }]];
  expect(await lossesOf("a.db")).toEqual(lost("a.db-wal"));
  expect(await lossesOf("b.db")).toEqual(lost("b.db-journal"));
  expect(await lossesOf("c.db")).toEqual([[]]);
});

// Node before 24.16 reads databases from files alone.
test.skipIf(!("deserialize" in DatabaseSync.prototype))("the log of a database in an archive is a loss", async () => {
  const { database, log } = logged();
  const { stats } = await loaded({
    "a.zip": zip([
      { name: "a.db", data: database },
      { name: "a.db-wal", data: log },
    ]),
  });
  expect(stats.converted?.lost).toEqual({ "unread log": 1 });
});
