import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openHeldContexts } from "../../../../src/runs/job-session.ts";
import { storedContext } from "../../../../src/session/contexts/contexts.ts";
import { excerptInput } from "../../../../src/session/contexts/excerpts.ts";
import type { Host } from "../../../../src/session/env.ts";
import { loadIntoStore } from "../../../../src/session/exec/load.ts";
import { contextParts } from "../../../../src/session/index.ts";
import { openSessionWith } from "../../../../src/session/session.ts";
import { forkSession, listReadableSessions } from "../../../../src/session/stored/sessions.ts";
import { openStore, type Store } from "../../../../src/store/index.ts";
import { contextKey } from "../../../support/context-key.ts";
import { folderWith } from "../../../support/tree.ts";

const FILES = { "docs/a.txt": "same\n", "docs/more/b.txt": "text\n" };
const NAMES = "[stats().sources, list_docs().map(({ id, path }) => [id, path])]";
const namesOf = (folder: string) => {
  const docs = join(folder, "docs");
  return [[docs], ["a.txt", "more/b.txt"].map((id) => [id, join(docs, id)])];
};

/** Two folders with equal files, and a store that sessions over either have in common. */
async function scene() {
  const store = await openStore(null);
  onTestFinished(() => store[Symbol.asyncDispose]());
  const folders = [folderWith(FILES), folderWith(FILES)] as const;
  const open = async (session: string, parts: Host = {}) => {
    const opened = await openSessionWith({ session, roots: [...folders] }, { store, ...parts });
    onTestFinished(() => opened.close());
    return opened;
  };
  /** Its names as its cells have them, in a session that is opened for it. */
  const seen = async (session: string, parts: Host = {}) => {
    await using opened = await open(session, parts);
    return (await opened.exec(NAMES)).result_json;
  };
  const loaded = async (session: string, folder: string, over: Store = store) => {
    await using opened = await open(session, { store: over });
    await opened.load(join(folder, "docs"));
    return opened.id;
  };
  return { store, folders, open, seen, loaded };
}

test("sessions over equal files of two folders each name their own, in cells and in lists", async () => {
  const { store, folders, seen, loaded } = await scene();
  const keys = [];
  for (const [at, folder] of folders.entries()) keys.push(await contextKey(store, await loaded(`s${at}`, folder)));
  expect(new Set(keys).size).toBe(2);
  for (const [at, folder] of folders.entries()) expect(await seen(`s${at}`)).toEqual(namesOf(folder));
  const { sessions } = await listReadableSessions(store);
  const listed = Object.fromEntries(sessions.map(({ name, context }) => [name, context?.sources]));
  expect(listed).toEqual({ s0: [join(folders[0], "docs")], s1: [join(folders[1], "docs")] });
});

test("a fork names the folder of its checkpoint, though its parent has loaded equal files of another since", async () => {
  const { store, folders, open, seen, loaded } = await scene();
  const id = await loaded("s", folders[0]);
  const [first] = await store.checkpoints(id);
  await loaded("s", folders[1]);
  const forking = { origin: "library", at: 1, settings: () => null } as const;
  const early = await forkSession(store, "s", { ...forking, id: "F1", name: "early", checkpoint: first?.id ?? null });
  const late = await forkSession(store, "s", { ...forking, id: "F2", name: "late", checkpoint: null });
  expect([early, late].map(({ context }) => context?.sources)).toEqual(folders.map((folder) => [join(folder, "docs")]));
  expect(await seen("early")).toEqual(namesOf(folders[0]));
  expect(await seen("late")).toEqual(namesOf(folders[1]));
  await using again = await open("early");
  expect(again.stats()?.sources).toEqual([join(folders[0], "docs")]);
});

test("children and jobs over equal files name those of their own, opened again too", async () => {
  const { store, folders, seen, loaded } = await scene();
  for (const [at, folder] of folders.entries()) {
    const parent = await storedContext(store, await contextKey(store, await loaded(`s${at}`, folder)));
    const excerpt = excerptInput({ whole: true }, parent);
    const options = { cwd: folder, roots: [folder] };
    const held = openHeldContexts(store);
    const job = contextParts(await held(await loadIntoStore(store, join(folder, "docs"), options)));
    for (const [name, parts] of Object.entries({ [`child${at}`]: { excerpt }, [`job${at}`]: job })) {
      expect(await seen(name, parts)).toEqual(namesOf(folder));
      expect(await seen(name)).toEqual(namesOf(folder));
    }
  }
});
