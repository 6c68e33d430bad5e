import { expect, test } from "vitest";
import { openStore } from "../../../src/store/open.ts";
import type { Store } from "../../../src/store/port.ts";
import { findingsIn } from "../../../src/store/whole-reads.ts";
import { EDITED } from "./edited.ts";
import { checkpointOf, META, pagesOf, recordOf, sessionOf } from "./sample.ts";

/** Keeps the end of an exec, in a checkpoint named after it. */
const end = (store: Store, session: string, name: string, more: { readonly drop?: readonly string[] } = {}) =>
  store.commit(session, {
    checkpoint: checkpointOf(`C${name}`, { pages: pagesOf([1], 1), kind: "end", exec_id: `E${name}` }),
    records: [recordOf(`E${name}`, 5), recordOf(`E${name}`, 6)],
    ...more,
  });

/** Keeps a step of the exec X, which waits for a call. */
const step = (store: Store, session: string, id: string) =>
  store.commit(session, {
    checkpoint: checkpointOf(id, { pages: pagesOf([2], 2), exec_id: "EX" }),
    records: [recordOf("EX", 7)],
  });

/**
 * S1 has four checkpoints. S2 is its fork at the second one and S3 that of S2, and both have gone on. F1 and F2 are forks within
 * the exec X of S1, which F2 has gone on with, as S1 has. N comes from none of these.
 */
async function sample(store: Store): Promise<void> {
  await store.putBaseline("B", META, pagesOf([1], 1));
  for (const id of ["S1", "N"]) await store.create(sessionOf(id));
  for (const name of ["1", "2", "3"]) await end(store, "S1", name);
  await end(store, "N", "N");
  await store.fork("S1", "C2", sessionOf("S2"));
  await store.lease("S2");
  await end(store, "S2", "4");
  await store.fork("S2", "C4", sessionOf("S3"));
  await store.lease("S3");
  await end(store, "S3", "5", { drop: ["C1"] });
  await step(store, "S1", "X1");
  for (const id of ["F1", "F2"]) await store.fork("S1", "X1", sessionOf(id));
  await store.lease("F2");
  await step(store, "F2", "X2");
  await step(store, "S1", "X3");
}

const REACHED = {
  S1: ["C1", "C2", "C3", "X1", "X3"],
  S2: ["C1", "C2", "C4"],
  S3: ["C2", "C4", "C5"],
  F1: ["C1", "C2", "C3", "X1"],
  F2: ["C1", "C2", "C3", "X1", "X2"],
  N: ["CN"],
};

test.for(EDITED)(
  "$kind: a checkpoint that a session has not come from is not shown as its own",
  async (of, { skip }) => {
    skip(of.skipped !== null, of.skipped ?? "");
    const place = await of.place();
    await using store = await openStore(place);
    await sample(store);
    const reached = async (session: string) => (await store.checkpoints(session)).map(({ id }) => id);
    const number = (id: string) => `(SELECT n FROM STORE.checkpoints WHERE id = '${id}')`;
    const change = (session: string, from: string, to: string) =>
      of.change(
        place,
        `UPDATE STORE.reach SET checkpoint = ${number(to)} WHERE session = '${session}' AND checkpoint = ${number(from)}`,
      );
    for (const [session, ids] of Object.entries(REACHED))
      expect([session, await reached(session)]).toEqual([session, ids]);
    expect(await findingsIn(store)).toEqual([]);

    for (const [session, from, to] of [
      ["N", "CN", "C1"],
      ["N", "CN", "B"],
      ["S1", "C1", "CN"],
      ["S1", "X3", "X2"],
      ["S1", "C3", "C4"],
      ["S2", "C2", "C3"],
      ["S2", "C1", "C5"],
      ["S2", "C1", "CN"],
      ["S3", "C2", "C3"],
      ["S3", "C5", "B"],
      ["F2", "X1", "X3"],
      ["F1", "X1", "X2"],
    ] as const) {
      const problem = `session ${session} has checkpoint ${to}, which is not its own`;
      await change(session, from, to);
      const refused = { code: "store_corrupt", message: problem };
      await expect(store.checkpoints(session)).rejects.toMatchObject(refused);
      await expect(store.fork(session, to, sessionOf("S9"))).rejects.toMatchObject(refused);
      const { checkpoints, damaged } = await store.readable(session);
      const left = REACHED[session].filter((id) => id !== from);
      expect([checkpoints.map(({ id }) => id), damaged]).toEqual([left, [problem]]);
      expect((await findingsIn(store)).join("\n")).toContain(problem);
      await change(session, to, from);
    }
    expect(await findingsIn(store)).toEqual([]);

    // A fork outlives the sessions that it comes from, and a record that is damaged is named by itself.
    for (const id of ["S1", "S2"]) await store.remove(id);
    expect(await reached("S3")).toEqual(REACHED.S3);
    await of.change(place, "UPDATE STORE.journal SET kind = 'x' WHERE session = 'S3' AND seq = 4");
    const { checkpoints, damaged } = await store.readable("S3");
    expect(checkpoints.map(({ id }) => id)).toEqual(REACHED.S3);
    expect(damaged).toEqual(["record 4 of session S3 is missing or damaged"]);
  },
);
