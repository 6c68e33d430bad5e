import { hash, randomBytes } from "node:crypto";
import fs, { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type ImagePages, PAGE_BYTES, pack } from "../../../runtime/index.ts";
import { openStore } from "../../../src/store/open.ts";
import { baselineOf } from "../../../src/store/rows/checkpoint.ts";
import { openPacking, type PackedPages } from "../../../src/store/rows/pages.ts";
import { keepText, readAnswer, textKey } from "../../../src/store/sql/cache.ts";
import { pagesAreWhole, readCheckpoint, readImage } from "../../../src/store/sql/checkpoints.ts";
import { all, get, raw, run, sql } from "../../../src/store/sql/sql.ts";
import { insertCheckpoint } from "../../../src/store/sqlite/commit.ts";
import { giveBack } from "../../../src/store/sqlite/gc.ts";
import { isLocked, openFileLocks } from "../../../src/store/sqlite/leases.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import { folderWith } from "../../support/tree.ts";
import { checkpointOf, META, memoryOf, pagesOf, recordOf, sessionOf } from "./sample.ts";

test("a lock whose file was removed is no lock of the file that others see, and removing a lock takes its file", () => {
  const path = join(folderWith(), "S.db");
  using locks = openFileLocks();
  using others = openFileLocks();
  const first = locks.take(path, 0);
  expect([first !== null, others.take(path, 0)]).toEqual([true, null]);
  expect(isLocked(path)).toBe(true);
  first?.remove();
  expect([existsSync(path), isLocked(path)]).toEqual([false, false]);
  // Somebody removes the file under the holder: whoever comes locks a new one, and keeps it.
  const old = locks.take(path, 0);
  rmSync(path);
  const next = others.take(path, 0);
  expect(next).not.toBeNull();
  old?.remove();
  expect(isLocked(path)).toBe(true);
  expect(locks.take(path, 0)).toBeNull();
  next?.remove();
});

test("a database that is empty, linked, or where others can write is refused by name, and stays as it was", () => {
  const empty = folderWith({ "belay.db": "" });
  expect(() => openDatabase(empty)).toThrow(expect.objectContaining({ code: "store_corrupt" }));
  expect(readFileSync(join(empty, "belay.db"))).toHaveLength(0);

  const linked = folderWith({ elsewhere: "of somebody" });
  symlinkSync(join(linked, "elsewhere"), join(linked, "belay.db"));
  expect(() => openDatabase(linked)).toThrow(
    expect.objectContaining({ message: expect.stringContaining("is a link") }),
  );
  expect(readFileSync(join(linked, "elsewhere"), "utf8")).toBe("of somebody");

  const open = folderWith();
  chmodSync(open, 0o777);
  expect(() => openDatabase(open)).toThrow(
    expect.objectContaining({ message: expect.stringContaining("all users can write") }),
  );
  expect(readdirSync(open)).toEqual([]);
});

test("a process that was killed while it made the database leaves none, and the next one makes it", async () => {
  const folder = folderWith({ "belay.db.new": "half", "belay.db.new-wal": "half" });
  await openDatabase(folder).close();
  expect(readdirSync(folder).toSorted()).toEqual(["belay.db", "locks"]);
});

test("space is given back once another process has written", async () => {
  const folder = folderWith();
  const database = openDatabase(folder);
  await database.exec("CREATE TABLE large (bytes); INSERT INTO large VALUES (zeroblob(1000000)); DROP TABLE large");
  using other = new DatabaseSync(join(folder, "belay.db"));
  other.exec("BEGIN IMMEDIATE");
  const given = giveBack(database);
  await delay(50);
  other.exec("COMMIT");
  await given;
  expect(other.prepare("PRAGMA freelist_count").get()).toEqual({ freelist_count: 0 });
  await database.close();
});

/** Packs all parts at once. */
function packPages(pages: ImagePages, linearBytes: number): PackedPages {
  const packing = openPacking(linearBytes);
  for (const part of pages) packing.add(part);
  return packing.packed();
}

test.each(["0", "-1", "1.5", '"many"', "8589934592"])(
  "an image of %s bytes of memory is lost, by name",
  async (bytes) => {
    const database = openDatabase(folderWith());
    const forged = { ...META, linearBytes: JSON.parse(bytes) };
    const pages = packPages([], META.linearBytes);
    await database.write(() => database.perform(insertCheckpoint(baselineOf("c", forged), pages)));
    const lost = expect.objectContaining({ code: "checkpoint_lost" });
    await expect(database.perform(readImage("c"))).rejects.toEqual(lost);
    database.close();
  },
);

// A kill cannot show whether a commit waits for the disk: what makes it so is looked at.
test("a commit is on disk when it resolves: the write-ahead log is flushed in between, and reads flush nothing", async () => {
  const database = openDatabase(folderWith({}));
  const pragma = async (name: string) => Object.values((await database.perform(get(raw(`PRAGMA ${name}`)))) ?? {})[0];
  // SQLite itself flushes the log before its pages are moved, and the database afterwards.
  expect([await pragma("journal_mode"), await pragma("synchronous"), await pragma("busy_timeout")]).toEqual([
    "wal",
    1,
    0,
  ]);
  const flushes: string[] = [];
  const { fdatasync } = fs;
  const spy = vi.spyOn(fs, "fdatasync").mockImplementation((file, done) => {
    flushes.push("begun");
    fdatasync(file, (error) => {
      flushes.push("done");
      done(error);
    });
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
  await database.read(async () => database.perform(get(sql`SELECT count(*) FROM sessions`)));
  expect(flushes).toEqual([]);
  await database.write(() => database.perform(keepText("h", "a text", 1)));
  expect(flushes).toEqual(["begun", "done"]);
  await database.close();
});

test("once a flush has failed, nothing more is written until the store is opened anew", async () => {
  const folder = folderWith({});
  const database = openDatabase(folder);
  const spy = vi.spyOn(fs, "fdatasync").mockImplementation((_file, done) => {
    done(Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO", errno: -5 }));
  });
  syncBuiltinESMExports();
  const keep = (key: string) => database.write(() => database.perform(keepText(key, "a text", 1)));
  await expect(keep("first")).rejects.toThrow("EIO");
  spy.mockRestore();
  syncBuiltinESMExports();
  await expect(keep("second")).rejects.toThrow("EIO");
  await database.close();
  const again = openDatabase(folder);
  expect(await again.perform(readAnswer(textKey("second")))).toBeNull();
  await again.write(() => again.perform(keepText("third", "a text", 1)));
  await again.close();
});

test("while another process writes, the thread goes on, and the write waits", async () => {
  const folder = folderWith({});
  const database = openDatabase(folder);
  const other = new DatabaseSync(join(folder, "belay.db"));
  other.exec("BEGIN IMMEDIATE");
  let isKept = false;
  const writing = database
    .write(() => database.perform(keepText("h", "a text", 1)))
    .then(() => {
      isKept = true;
    });
  await delay(50);
  expect(isKept).toBe(false);
  other.exec("COMMIT");
  other.close();
  await writing;
  expect(await database.perform(readAnswer(textKey("h")))).toBe("a text");
  await database.close();
});

test("a log that has grown is moved into the database by another thread", async () => {
  const folder = folderWith({});
  const database = openDatabase(folder);
  const before = statSync(join(folder, "belay.db")).size;
  const text = randomBytes(3 * 2 ** 20).toString("hex");
  for (const n of [1, 2, 3, 4, 5, 6, 7, 8]) await database.write(() => database.perform(keepText(`h${n}`, text, 1)));
  await vi.waitFor(() => expect(statSync(join(folder, "belay.db")).size).toBeGreaterThan(before + 2 ** 20));
  await database.close();
});

test("a log begins anew while more is written, so it stays short", async () => {
  const folder = folderWith({});
  const database = openDatabase(folder);
  const text = randomBytes(2 ** 14).toString("hex");
  for (let n = 0; n < 1100; n++) await database.write(() => database.perform(keepText(`h${n}`, text, 1)));
  expect(statSync(join(folder, "belay.db-wal")).size).toBeLessThan(32 * 2 ** 20);
  await database.close();
});

describe("writes that are kept together", () => {
  function scene() {
    const folder = folderWith({});
    const database = openDatabase(folder);
    const undone: string[] = [];
    const insert = (key: string) =>
      database.perform(run(sql`INSERT OR ROLLBACK INTO cache (key, value, at, sha256) VALUES (${key}, 'v', 0, x'')`));
    const write = (key: string, and: () => unknown = () => {}) =>
      database.write(
        async () => {
          await insert(key);
          await and();
        },
        () => undone.push(key),
      );
    const kept = async () =>
      (await database.perform(all(sql`SELECT key FROM cache ORDER BY key`))).map(({ key }) => key);
    return { folder, database, undone, write, kept };
  }
  const fail = () => {
    throw new Error("on purpose");
  };

  test("one that fails is undone alone, and the others come to the disk with one commit", async () => {
    const { folder, database, undone, write, kept } = scene();
    const before = commitsIn(folder);
    await database.together(async (isWriting) => {
      await expect(write("a", fail)).rejects.toThrow("on purpose");
      expect([isWriting(), await database.read(kept)]).toEqual([false, []]);
      await write("b");
      await expect(write("c", fail)).rejects.toThrow("on purpose");
      await write("d");
      expect([isWriting(), await database.read(kept)]).toEqual([true, ["b", "d"]]);
      expect(commitsIn(folder)).toBe(before);
    });
    expect([await kept(), undone, commitsIn(folder) - before]).toEqual([["b", "d"], ["a", "c"], 1]);
    await write("e");
    expect([await kept(), commitsIn(folder) - before]).toEqual([["b", "d", "e"], 2]);
    await database.close();
  });

  test("if their commit fails, none of them is kept, and the last one is undone first", async () => {
    const { database, undone, write, kept } = scene();
    database.exec(`CREATE TABLE deferred (
      session TEXT REFERENCES sessions DEFERRABLE INITIALLY DEFERRED) STRICT`);
    const both = () =>
      database.together(async () => {
        await write("a", () => database.perform(run(sql`INSERT INTO deferred VALUES ('none')`)));
        await write("b");
      });
    await expect(both()).rejects.toThrow("FOREIGN KEY");
    expect([await kept(), undone]).toEqual([[], ["b", "a"]]);
    await write("c");
    expect(await kept()).toEqual(["c"]);
    await database.close();
  });

  test("if SQLite ends their transaction, none of them is kept, and that error is the one that is told", async () => {
    const { database, undone, write, kept } = scene();
    const together = () =>
      database.together(async () => {
        await write("a");
        await expect(write("a")).rejects.toMatchObject({ cause: { message: expect.stringContaining("UNIQUE") } });
        await write("b");
      });
    await expect(together()).rejects.toMatchObject({ cause: { message: expect.stringContaining("UNIQUE") } });
    expect([await kept(), undone]).toEqual([[], ["a", "b", "a"]]);
    await database.close();
  });
});

test("requests that wait at the same time are kept with one commit, and each gets its own answer, in their order", async () => {
  const folder = folderWith({});
  await using store = await openStore(folder);
  const before = commitsIn(folder);
  const order: string[] = [];
  const asked = {
    first: store.create(sessionOf("S1", { name: "one" })),
    taken: store.create(sessionOf("S2", { name: "one" })),
    found: store.find("one"),
    record: store.commit("S1", { records: [recordOf("E1", 10)] }),
    // A lock is let go when all before it is on disk.
    released: store.release("S1"),
    last: store.create(sessionOf("S3")),
  };
  for (const [name, answer] of Object.entries(asked)) {
    const add = () => order.push(name);
    answer.then(add, add);
  }
  await expect(asked.taken).rejects.toMatchObject({ code: "session_exists" });
  expect(await asked.found).toMatchObject({ id: "S1", last_seq: 0, busy: true });
  await asked.last;
  expect(order.toSorted()).toEqual(Object.keys(asked).toSorted());
  expect(order.slice(-2)).toEqual(["released", "last"]);
  expect(commitsIn(folder) - before).toBe(2);
  expect((await store.list({ after: null, limit: 9 })).map(({ id, last_seq }) => [id, last_seq]).sort()).toEqual([
    ["S1", 1],
    ["S3", 0],
  ]);
});

/** Transactions in the write-ahead log, which a store has from its opening on. */
function commitsIn(folder: string): number {
  const HEADER = 32;
  const FRAME = 24 + 4096;
  const path = join(folder, "belay.db-wal");
  const log = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  const frames = Array.from({ length: Math.floor((log.length - HEADER) / FRAME) }, (_, at) => HEADER + at * FRAME);
  return frames.filter((at) => log.readUInt32BE(at + 4) !== 0).length;
}

// Its seals may say what they like: what is not changes of this memory is not put onto it.
test.each([
  ["beyond its memory", packPages(pagesOf([64], 1), 65 * PAGE_BYTES)],
  ["with fewer words than their masks say", cut(4)],
  ["whose last word is no whole one", cut(1)],
  ["without the last of their masks", cut(2 * PAGE_BYTES + 4)],
])("an image with pages %s is refused", async (_what, packed) => {
  const database = openDatabase(null);
  const insert = (id: string, pages: PackedPages) => {
    const writing = { ...checkpointOf(id, { pages: [] }), session: null, seq: 1 };
    return database.perform(insertCheckpoint(writing, pages));
  };
  await insert("whole", packPages(pagesOf([1, 2], 1), META.linearBytes));
  const { memory } = await database.perform(readImage("whole"));
  expect(Buffer.compare(memory, memoryOf(pagesOf([1, 2], 1)))).toBe(0);
  await insert("other", packed);
  await expect(database.perform(readImage("other"))).rejects.toThrow("checkpoint other: its pages are damaged");
  expect(await database.perform(pagesAreWhole(await database.perform(readCheckpoint("other"))))).toBe(false);
  await database.close();
});

/** Two pages whose changes end too early, sealed as they are. */
function cut(end: number): PackedPages {
  const [part] = pagesOf([1, 2], 1);
  if (!part) throw new Error("there are no pages");
  const numbers = new Uint8Array(part.numbers.buffer);
  const bytes = pack(new Uint8Array(part.changes.buffer).slice(0, -end));
  const seals = Buffer.from(hash("sha256", numbers) + hash("sha256", bytes), "hex");
  return { parts: [{ numbers, bytes }], seals, count: 2, bytes: numbers.byteLength + bytes.byteLength };
}
