import { expect, test } from "vitest";
import { everySession, type Store } from "../../../src/store/index.ts";
import { openStore } from "../../../src/store/thread/thread.ts";

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
