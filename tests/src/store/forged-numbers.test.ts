import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { findingsIn, type Store, shareStore } from "../../../src/store/index.ts";
import { unpackText } from "../../../src/store/rows/pack.ts";
import { type Field, type Row, seal } from "../../../src/store/rows/row.ts";
import { SESSION_COLUMNS } from "../../../src/store/rows/session.ts";
import { folderWith } from "../../support/tree.ts";

// Numbers and names of rows whose seals somebody has made anew: the other rows are read, and each refusal names its row.

const MOST_INT = 2n ** 63n - 1n;

/** A store with the sessions `evil`, which has records, and `good`, and its database. */
async function withSessions(records: number) {
  const folder = folderWith();
  const store = await shareStore(folder);
  for (const id of ["evil", "good"]) await store.create({ id, name: null, origin: "command", settings: null, at: 1 });
  const start = { record: "rlm_start", exec_id: "e", at: 1, kind: "cell", limits: {}, rest: [] };
  await store.commit("evil", { records: Array.from({ length: records }, () => start) });
  const database = new DatabaseSync(join(folder, "belay.db"));
  return { store, database, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

function forge(database: DatabaseSync, column: string, value: Field): void {
  const row: Row = database.prepare("SELECT * FROM sessions WHERE id = 'evil'").get() ?? {};
  const sealed = seal(SESSION_COLUMNS.map((name) => (name === column ? value : (row[name] ?? null))));
  database.prepare(`UPDATE sessions SET ${column} = ?, sha256 = ? WHERE id = 'evil'`).run(value, sealed);
}

const listed = async (store: Store, without: readonly string[] = []) =>
  (await store.list({ after: null, limit: 10, without })).map(({ id }) => id);

test.for([
  ["created_at", Number.POSITIVE_INFINITY],
  ["changed_at", -1e300],
  ["journal_bytes", MOST_INT],
  ["journal_bytes", -1],
  ["checkpoints", MOST_INT],
  ["last_seq", -5],
  ["name", "n".repeat(2e6)],
] as const)(
  "a session whose %s is out of bounds is refused by its id, and the others are listed",
  async ([column, value]) => {
    await using made = await withSessions(1);
    const { store, database } = made;
    forge(database, column, value);
    const message = expect.stringMatching(new RegExp(`^session evil: a row's column ${column} (?:is|has) [^ ]{1,30}`));
    await expect(listed(store)).rejects.toMatchObject({ code: "store_corrupt", message });
    expect(await listed(store, ["evil"])).toEqual(["good"]);
    expect((await findingsIn(store)).join().length).toBeLessThan(1000);
  },
);

test("a session whose id is no id is refused as damaged, and the others are listed", async () => {
  await using made = await withSessions(0);
  const { store, database } = made;
  const id = "../../evil";
  forge(database, "id", id);
  const message = `the row of session ${id} is damaged`;
  await expect(listed(store)).rejects.toMatchObject({ code: "store_corrupt", message });
  expect(await listed(store, [id])).toEqual(["good"]);
});

test("a session that says that it has records without end is read at once", async () => {
  await using made = await withSessions(2);
  const { store, database } = made;
  const last = Number.MAX_SAFE_INTEGER;
  forge(database, "last_seq", last);
  const message = `records 3 to ${last} of session evil are missing or damaged`;
  await expect(store.journal("evil", 1)).rejects.toMatchObject({ code: "store_corrupt", message });
});

test("sizes whose sum is no integer of a database end no list", async () => {
  await using made = await withSessions(0);
  const { store, database } = made;
  const parts = ["a", "b"].map((letter) => letter.repeat(64));
  for (const part of parts) database.prepare("INSERT INTO parts (hash, bytes) VALUES (?, ?)").run(part, MOST_INT);
  const put = "INSERT INTO contexts (hash, parts, facts, sha256) VALUES ('c', ?, '{}', x'00')";
  database.prepare(put).run(JSON.stringify(parts));
  database.exec("INSERT INTO uses (session, hash) VALUES ('evil', 'c')");
  expect((await listed(store)).sort()).toEqual(["evil", "good"]);
});

test("gc drops nothing because of a context whose list of parts is no JSON", async () => {
  await using made = await withSessions(0);
  const { store, database } = made;
  database.exec("INSERT INTO contexts (hash, parts, facts, sha256) VALUES ('c', '[nope', '{}', x'00')");
  database.exec("INSERT INTO uses (session, hash) VALUES ('evil', 'c')");
  for (const id of ["evil", "good"]) await store.release(id);
  const rule = { now: 2, anonymousMs: 1e9, namedMs: null, pi: false, dryRun: false };
  expect(await store.gc(rule)).toMatchObject({ sessions: [], contexts: 0 });
});

test("records that unpack to more than a heap can take together are refused, and as few are unpacked", async () => {
  await using made = await withSessions(10);
  const { store, database } = made;
  const row: Row = database.prepare("SELECT * FROM journal WHERE seq = 1").get() ?? {};
  const text = `${unpackText(row, "content")?.slice(0, -1)},"more":[${"0,".repeat(4_000_000)}0]}`;
  const packed = zstdCompressSync(text);
  const put = database.prepare("UPDATE journal SET content = ?, sha256 = ? WHERE seq = ?");
  for (let seq = 1; seq <= 10; seq++) put.run(packed, seal(["evil", seq, "rlm_start", text]), seq);
  const message = "records 9 to 10 of session evil are missing or damaged";
  await expect(store.journal("evil", 1)).rejects.toMatchObject({ code: "store_corrupt", message });
});

test("a job that began when no date is is refused by its id, and the others are listed", async () => {
  await using made = await withSessions(0);
  const { database } = made;
  const { jobs } = made.store;
  const limits = { nanodollars: null, tokens: null, sub_calls: null };
  await jobs.open({ id: "R", name: "run", queue: "q", share: 1, spec: {}, hash: "h", limits });
  const job = (id: string) => ({ id, session: `S${id}`, input: "1", context: null });
  await jobs.add("R", [job("evil"), job("good")]);
  database.exec("UPDATE jobs SET begun_at = 9e999 WHERE id = 'evil'");
  const problem = "job evil: a row's column begun_at is Infinity, which is no instant";
  expect(await jobs.damaged("R")).toEqual([{ id: "evil", problem }]);
  expect(await jobs.list("R", { from: 0, limit: 10, without: ["evil"] })).toMatchObject([{ id: "good" }]);
});
