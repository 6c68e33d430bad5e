import { expect, test } from "vitest";
import { everySession, type Store } from "../../../src/store/index.ts";
import { openStore } from "../../../src/store/open.ts";
import { VERIFY_PARTS, type VerifiedPage } from "../../../src/store/port.ts";
import { verifyStore } from "../../../src/store/whole-reads.ts";
import { EDITED } from "./edited.ts";
import { sessionOf } from "./sample.ts";

test.for(EDITED)("$kind: all pages of a part are checked", async (of, { skip }) => {
  skip(of.skipped !== null, of.skipped ?? "");
  const place = await of.place();
  await using store = await openStore(place);
  await store.create(sessionOf("S1"));
  await store.release("S1");
  const numbers = "WITH RECURSIVE counted (n) AS (SELECT 100 UNION ALL SELECT n + 1 FROM counted WHERE n < 220)";
  const columns = "origin, created_at, changed_at, last_seq, checkpoints, journal_bytes, facts, settings, sha256";
  await of.change(
    place,
    `INSERT INTO STORE.sessions (id, ${columns}) ${numbers} SELECT 'X' || n, ${columns} FROM STORE.sessions, counted`,
  );
  const pages: string[][] = [];
  for await (const { part, findings } of verifyStore(store)) if (part === "sessions") pages.push([...findings]);
  // The first one says that the part begins.
  expect(pages.map(({ length }) => length)).toEqual([0, 49, 50, 22]);
  expect(new Set(pages.flat()).size).toBe(121);
});

test("who stops early asks for no further page, and a part that leads in a circle is left", async () => {
  const asked: string[] = [];
  const verify = async (part: string, after: string | null): Promise<VerifiedPage> => {
    asked.push(`${part} ${after}`);
    return part === "sessions" ? { findings: ["bad"], next: after === "b" ? "a" : "b" } : { findings: [], next: null };
  };
  const told: string[] = [];
  for await (const { part, findings } of verifyStore({ verify })) {
    told.push(...findings);
    if (part === VERIFY_PARTS[2]) break;
  }
  expect(asked).toEqual(["file null", "sessions null", "sessions b", "sessions a"]);
  expect(told).toEqual(["bad", "bad", "bad", "database: the rows of the part sessions are out of order"]);
});

test("sessions are read page by page, and no further than somebody looks", async () => {
  await using store = await openStore(null);
  const made = { name: null, origin: "library", settings: null } as const;
  const ids = Array.from({ length: 1001 }, (_, n) => `S${String(n).padStart(4, "0")}`);
  for (const id of ids) {
    await store.create({ ...made, id, at: 7 });
    await store.release(id);
  }
  const pages: number[] = [];
  const list: Store["list"] = async (page) => {
    const rows = await store.list(page);
    pages.push(rows.length);
    return rows;
  };
  const rows = await Array.fromAsync(everySession({ list }));
  expect(rows.map(({ id }) => id)).toEqual(ids.toReversed());
  expect(pages.splice(0)).toEqual([500, 500, 1]);
  for await (const { id } of everySession({ list })) if (id === "S1000") break;
  expect(pages).toEqual([500]);
});
