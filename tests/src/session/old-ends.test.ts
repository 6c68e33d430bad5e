import { join } from "node:path";
import { expect, test } from "vitest";
import { openSessionWith } from "../../../src/session/session.ts";
import { forkSession } from "../../../src/session/stored/sessions.ts";
import { findingsIn, type Store, shareStore } from "../../../src/store/index.ts";
import { folderWith } from "../../support/tree.ts";

/** A store that dies in the exec that has dropped old ends, before or after they are dropped. */
function dying(store: Store, side: "before" | "after") {
  let isDead = false;
  const gone = () => Promise.reject(new Error("the process is gone"));
  const around: Store = {
    ...store,
    commit: (session, step) => (isDead ? gone() : store.commit(session, step)),
    async thin(session, ends) {
      if (side === "after") await store.thin(session, ends);
      isDead = true;
      return gone();
    },
  };
  return around;
}

test("of the ends before the last 50 every tenth stays, whenever a process is killed; what is gone is refused by name", async () => {
  const store = await shareStore(join(folderWith(), "store"));
  const open = (around = store) => openSessionWith({ session: "long" }, { store: around });
  const first = await open();
  await first.exec("var n = 1");
  for (let n = 2; n <= 59; n++) await first.exec("n += 1");
  const all = (await store.checkpoints(first.id)).map(({ id }) => id);
  expect(all).toHaveLength(59);
  await first.close();
  for (const side of ["before", "after"] as const) {
    const killed = await open(dying(store, side));
    const ran = killed.unfinished() ? killed.resume() : killed.exec("n += 1");
    await ran.catch(() => {});
    await killed.close();
    expect(await store.checkpoints(first.id)).toHaveLength(side === "before" ? 59 : 50);
  }
  const again = await open();
  expect(await again.resume()).toMatchObject({ envelope: { success: true } });
  expect(await again.exec("n")).toMatchObject({ result_json: 60 });
  const left = (await store.checkpoints(first.id)).map(({ id }) => id);
  expect(left.slice(0, 50)).toEqual(all.slice(9));
  expect(left).toHaveLength(52);
  await again.close();
  const fork = (checkpoint: string, id: string) =>
    forkSession(store, "long", { id, name: id, origin: "library", checkpoint, at: 1, settings: () => null });
  await expect(fork(all[4] ?? "", "none")).rejects.toMatchObject({
    ...{
      code: "checkpoint_not_found",
      message: `long has no checkpoint ${all[4]} any more; the nearest that stays is ${all[9]}`,
    },
  });
  await fork(all[9] ?? "", "tenth");
  const tenth = await openSessionWith({ session: "tenth" }, { store });
  expect(await tenth.exec("n")).toMatchObject({ result_json: 10 });
  await tenth.close();
  expect(await findingsIn(store)).toEqual([]);
});
