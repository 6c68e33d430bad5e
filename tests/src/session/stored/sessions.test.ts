import { expect, onTestFinished, test } from "vitest";
import { describeSession } from "../../../../src/history/index.ts";
import { RlmError } from "../../../../src/index.ts";
import { openSessionWith } from "../../../../src/session/session.ts";
import {
  forkSession,
  listReadableSessions,
  removeSession,
  sessionNamed,
} from "../../../../src/session/stored/sessions.ts";
import { openStore, type Store } from "../../../../src/store/index.ts";

async function emptyStore(): Promise<Store> {
  const store = await openStore(null);
  onTestFinished(() => store[Symbol.asyncDispose]());
  return store;
}

/** What a rejection says. */
async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof RlmError ? `${error.code}: ${error.message} | ${error.suggestion}` : `${error}`;
}

const settings = () => null;
const FORK = { id: "01FORK", name: "past", origin: "library", checkpoint: null, at: 5, settings } as const;

test("a session is found by name, id, end of an id and as the last; another has near names", async () => {
  const store = await emptyStore();
  expect(await refusal(sessionNamed(store, "x"))).toBe(
    "session_not_found: session x not found | The store holds no session; is it the right folder?",
  );
  const settings = { model: "a/b" };
  for (const [id, name] of [
    ["01A", "letters"],
    ["01ACCC6AGZBZ7T", null],
    ["01B6AGZBZ7T", null],
  ] as const) {
    await store.create({ id, name, origin: "library", settings, at: 1 });
    await store.release(id);
  }
  expect((await sessionNamed(store, "letters")).id).toBe("01A");
  expect((await sessionNamed(store, "b6agzbz7t")).id).toBe("01B6AGZBZ7T");
  expect((await sessionNamed(store, "@last")).id).toBe("01B6AGZBZ7T");
  await store.create({ id: "01PI", name: null, origin: "pi", settings: null, at: 2 });
  await store.release("01PI");
  expect((await sessionNamed(store, "@last")).id).toBe("01B6AGZBZ7T");
  expect(await refusal(sessionNamed(store, "leters"))).toMatch(/ \| Did you mean letters\?$/);
  expect(await refusal(sessionNamed(store, "other"))).toMatch(/ \| Sessions are 01PI, 6AGZBZ7T, 6AGZBZ7T, letters$/);
  expect(await refusal(sessionNamed(store, "6AGZBZ7T"))).toMatch(
    / \| Several ids end so: 01B6AGZBZ7T, 01ACCC6AGZBZ7T$/,
  );
  expect(await refusal(sessionNamed(store, "1pi"))).toMatch(/ \| Did you mean 01PI\?$/);
  expect((await listReadableSessions(store)).sessions).toMatchObject([
    { id: "01PI", origin: "pi" },
    { id: "01B6AGZBZ7T", status: "idle", execs: 0, last: null, context: null, holder: null },
    { id: "01ACCC6AGZBZ7T" },
    { id: "01A", name: "letters" },
  ]);
  await store.create({ id: "01JOB", name: null, origin: "batch", settings: null, at: 3 });
  await store.release("01JOB");
  expect(await refusal(sessionNamed(store, "other"))).toMatch(/ \| Sessions are 01PI, 6AGZBZ7T, /);
});

test("a fork says of itself what it is at its checkpoint, and goes on from there", async () => {
  const store = await emptyStore();
  const session = await openSessionWith({ session: "main" }, { store });
  await session.load({ text: "alpha", name: "a" });
  await session.exec("let n = 1");
  await session.loadAppend({ text: "beta", name: "b" });
  await session.exec("n = 2;\nP.length");
  const [listed] = (await listReadableSessions(store)).sessions;
  expect(listed).toMatchObject({ status: "open", execs: 4, holder: { pid: process.pid } });
  const found = await describeSession(store, "main");
  expect(found.execs.map(({ kind, status, input }) => [kind, status, input])).toEqual([
    ["load", "ok", "a"],
    ["cell", "ok", "let n = 1"],
    ["append", "ok", "b"],
    ["cell", "ok", "n = 2;"],
  ]);
  expect(found.checkpoints.map(({ head }) => head)).toEqual([false, false, false, true]);
  const seen = found.checkpoints.map(({ parent }) => parent);
  expect(seen).toEqual([null, ...found.checkpoints.slice(0, -1).map(({ id }) => id)]);
  const checkpoint = found.checkpoints[1]?.id ?? "";
  const forked = await forkSession(store, "main", { ...FORK, checkpoint });
  expect(forked).toMatchObject({ name: "past", status: "idle", execs: 2, forked_from: checkpoint });
  expect(forked.context).toMatchObject({ sources: ["a"], chars: 5 });
  expect((await listReadableSessions(store)).sessions.find(({ name }) => name === "past")).toMatchObject({ execs: 2 });
  await using past = await openSessionWith({ session: "past" }, { store });
  expect(await past.exec("[n, P]")).toMatchObject({ result_json: [1, "alpha"] });
  expect(await session.exec("n")).toMatchObject({ result_json: 2 });
  await session.close();
});

test("a checkpoint is found by a beginning or end of its id that fits it alone", async () => {
  const store = await emptyStore();
  const session = await openSessionWith({ session: "main" }, { store });
  await session.exec("1");
  await session.exec("2");
  await session.close();
  const [first, second] = (await describeSession(store, "main")).checkpoints.map(({ id }) => id);
  const end = await forkSession(store, "main", { ...FORK, checkpoint: (first ?? "").slice(-14).toLowerCase() });
  expect(end.forked_from).toBe(first);
  const newest = await forkSession(store, "main", { ...FORK, id: "01OTHER", name: null });
  expect(newest.forked_from).toBe(second);
  const several = forkSession(store, "main", { ...FORK, checkpoint: "01" });
  expect(await refusal(several)).toMatch(
    /^checkpoint_not_found: main has several checkpoints 01 \| `describe\(main\)` of the store lists them/,
  );
  expect(await refusal(forkSession(store, "main", { ...FORK, name: "a@b" }))).toMatch(
    /^invalid_argument: "a@b" is not a valid session name/,
  );
  await removeSession(store, "01FORK");
  expect((await listReadableSessions(store)).sessions.map(({ id }) => id)).not.toContain("01FORK");
});
