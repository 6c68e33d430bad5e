import { expect, test } from "vitest";
import type { Carrier, Look } from "../../../src/shipping/carrier.ts";
import { advance } from "../../../src/shipping/shipments.ts";
import { openStore, type Store } from "../../../src/store/index.ts";

const ACCOUNT = "openai-completions http://p/v1 00000000";

/** A shipment with one parcel that is out, in a store of its own. Answers what its carrier is asked by the next look. */
async function lookedAt(seen: Look, before: (store: Store, id: string, fence: number) => Promise<unknown>) {
  await using store = await openStore(null);
  const { shipping } = store;
  const key = { session: "S", call: "1", k: 0, root: "S", run: null };
  await shipping.keep({ ...key, account: ACCOUNT, model: "p/m", body: {} });
  const fence = (await shipping.lease(ACCOUNT)) ?? 0;
  const closed = await shipping.close({ account: ACCOUNT, model: "p/m" }, fence, { parcels: 10, bytes: 1000 });
  const id = closed?.id ?? "";
  await shipping.step(id, fence, { state: "out", batch: "b1", lookMs: 0 });
  await before(store, id, fence);
  const asked: string[] = [];
  const carrier: Carrier = {
    create: () => Promise.reject(new Error("it is made")),
    find: () => Promise.reject(new Error("it is known")),
    async look() {
      asked.push("look");
      return seen;
    },
    async results() {
      asked.push("results");
      return (async function* () {})();
    },
    async cancel() {
      asked.push("cancel");
    },
  };
  const [shipment] = await shipping.open();
  if (!shipment) throw new Error("no shipment is open");
  const parts = { shipping, carrier, fence, random: () => 0, pace: 1, resendsDoubtful: false };
  await advance({ ...parts, answered() {}, hindered() {}, failing() {} }, shipment);
  return { asked, open: await shipping.open() };
}

test("a batch whose answers were kept by a process that died then is ended, and not cancelled", async () => {
  const answers = [{ n: 0, status: 200, body: {}, again: false }];
  const { asked, open } = await lookedAt({ state: "over" }, ({ shipping }, id, fence) =>
    shipping.answer(id, fence, answers),
  );
  expect([asked, open]).toEqual([["look", "results"], []]);
});

test("a batch that nobody waits for any more is cancelled once", async () => {
  const { asked, open } = await lookedAt({ state: "out", done: 0 }, ({ shipping }) =>
    shipping.giveUp({ root: "S" }, "all"),
  );
  expect(asked).toEqual(["look", "cancel"]);
  expect(open).toMatchObject([{ state: "out", cancelled: true }]);
});
