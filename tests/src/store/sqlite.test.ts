import { hash } from "node:crypto";
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { PAGE_BYTES, pack } from "../../../runtime/index.ts";
import { baselineOf } from "../../../src/store/rows/checkpoint.ts";
import { type PackedPages, packPages } from "../../../src/store/rows/pages.ts";
import { pagesAreWhole, readCheckpoint, readImage } from "../../../src/store/sql/checkpoints.ts";
import { insertCheckpoint } from "../../../src/store/sqlite/checkpoints.ts";
import { isLocked, openFileLocks } from "../../../src/store/sqlite/file-locks.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import { SCHEMA_VERSION } from "../../../src/store/sqlite/schema.ts";
import { openStore } from "../../../src/store/thread/thread.ts";
import { folderWith } from "../../support/tree.ts";
import { checkpointOf, META, memoryOf, pagesOf, recordOf, sessionOf } from "./sample.ts";
import { folderOfVersion1 } from "./version-one.ts";

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

test("a process that was killed while it made the database leaves none, and the next one makes it", () => {
  const folder = folderWith({ "belay.db.new": "half", "belay.db.new-wal": "half" });
  openDatabase(folder).close();
  expect(readdirSync(folder).toSorted()).toEqual(["belay.db", "locks"]);
});

test.each(["0", "-1", "1.5", '"many"', "8589934592"])("an image of %s bytes of memory is lost, by name", (bytes) => {
  const database = openDatabase(folderWith());
  const forged = { ...META, linearBytes: JSON.parse(bytes) };
  database.write(() => insertCheckpoint(database, baselineOf("c", forged), packPages([], META.linearBytes)));
  const lost = expect.objectContaining({ code: "checkpoint_lost" });
  expect(() => database.perform(readImage("c"))).toThrow(lost);
  database.close();
});

// A kill cannot show whether a commit waits for the disk: the settings that make it so are looked at.
test("a commit is on disk when it returns: write-ahead log, synchronous=FULL", () => {
  const database = openDatabase(folderWith({}));
  const pragma = (name: string) => Object.values(database.get(`PRAGMA ${name}`) ?? {})[0];
  expect(pragma("journal_mode")).toBe("wal");
  expect(pragma("synchronous")).toBe(2);
  expect(pragma("busy_timeout")).toBe(10_000);
  database.close();
});

describe("writes that are kept together", () => {
  const add = "INSERT OR ROLLBACK INTO cache (key, value, at, sha256) VALUES (?, 'v', 0, x'')";
  function scene() {
    const folder = folderWith({});
    const database = openDatabase(folder);
    const undone: string[] = [];
    const write = (key: string, and = () => {}) => {
      const work = () => {
        database.run(add, key);
        and();
      };
      database.write(work, () => undone.push(key));
    };
    const kept = () => database.all("SELECT key FROM cache ORDER BY key").map(({ key }) => key);
    return { folder, database, undone, write, kept };
  }
  const fail = () => {
    throw new Error("on purpose");
  };

  test("one that fails is undone alone, and the others come to the disk with one commit", () => {
    const { folder, database, undone, write, kept } = scene();
    const before = commitsIn(folder);
    database.together((isWriting) => {
      expect(() => write("a", fail)).toThrow("on purpose");
      expect([isWriting(), database.read(kept)]).toEqual([false, []]);
      write("b");
      expect(() => write("c", fail)).toThrow("on purpose");
      write("d");
      expect([isWriting(), database.read(kept)]).toEqual([true, ["b", "d"]]);
      expect(commitsIn(folder)).toBe(before);
    });
    expect([kept(), undone, commitsIn(folder) - before]).toEqual([["b", "d"], ["a", "c"], 1]);
    write("e");
    expect([kept(), commitsIn(folder) - before]).toEqual([["b", "d", "e"], 2]);
    database.close();
  });

  test("if their commit fails, none of them is kept, and the last one is undone first", () => {
    const { database, undone, write, kept } = scene();
    database.exec(`CREATE TABLE deferred (
      session TEXT REFERENCES sessions DEFERRABLE INITIALLY DEFERRED) STRICT`);
    const both = () =>
      database.together(() => {
        write("a", () => database.run("INSERT INTO deferred VALUES ('none')"));
        write("b");
      });
    expect(both).toThrow("FOREIGN KEY");
    expect([kept(), undone]).toEqual([[], ["b", "a"]]);
    write("c");
    expect(kept()).toEqual(["c"]);
    database.close();
  });

  test("if SQLite ends their transaction, none of them is kept, and that error is the one that is told", () => {
    const { database, undone, write, kept } = scene();
    const all = () =>
      database.together(() => {
        write("a");
        expect(() => write("a")).toThrow("UNIQUE");
        write("b");
      });
    expect(all).toThrow("UNIQUE");
    expect([kept(), undone]).toEqual([[], ["a", "b", "a"]]);
    database.close();
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
  expect(order).toEqual(Object.keys(asked));
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

// A build of version 1 cannot read the origin `mcp`. It refuses a store of a later version by name (`store_too_new`).
test("a store of version 1 becomes one of the present version and keeps its sessions", () => {
  const folder = folderOfVersion1();
  using before = new DatabaseSync(join(folder, "belay.db"));
  expect(before.prepare("PRAGMA user_version").get()).toEqual({ user_version: 1 });
  const sessions = before.prepare("SELECT count(*) AS n FROM sessions").get();
  const database = openDatabase(folder);
  expect(database.get("PRAGMA user_version")).toEqual({ user_version: SCHEMA_VERSION });
  expect(database.get("SELECT count(*) AS n FROM sessions")).toEqual(sessions);
  database.close();
});

// Its seals may say what they like: what is not changes of this memory is not put onto it.
test.each([
  ["beyond its memory", packPages(pagesOf([64], 1), 65 * PAGE_BYTES)],
  ["with fewer words than their masks say", cut(4)],
  ["whose last word is no whole one", cut(1)],
  ["without the last of their masks", cut(2 * PAGE_BYTES + 4)],
])("an image with pages %s is refused", (_what, packed) => {
  const database = openDatabase(null);
  const insert = (id: string, pages: PackedPages) => {
    const writing = { ...checkpointOf(id, { pages: [] }), session: null, seq: 1 };
    insertCheckpoint(database, writing, pages);
  };
  insert("whole", packPages(pagesOf([1, 2], 1), META.linearBytes));
  expect(Buffer.compare(database.perform(readImage("whole")).memory, memoryOf(pagesOf([1, 2], 1)))).toBe(0);
  insert("other", packed);
  expect(() => database.perform(readImage("other"))).toThrow("checkpoint other: its pages are damaged");
  expect(database.perform(pagesAreWhole(database.perform(readCheckpoint("other"))))).toBe(false);
  database.close();
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
