import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { RlmError } from "../../../../runtime/index.ts";
import type { Context } from "../../../../src/context/index.ts";
import { storedContext } from "../../../../src/session/contexts/contexts.ts";
import { type ExcerptInput, excerptInput, rangesInParent } from "../../../../src/session/contexts/excerpts.ts";
import { readRecord } from "../../../../src/session/journal/records.ts";
import { openSessionWith } from "../../../../src/session/session.ts";
import { openStore, type Store } from "../../../../src/store/index.ts";
import { contextKey } from "../../../support/context-key.ts";
import { folderWith } from "../../../support/tree.ts";

test("a child's context is loaded once, and its source is in its journal", async () => {
  const { store, parent } = await parentOver({ "a.txt": "first\n", "b.txt": "second\n" });
  const excerpt = excerptInput(
    {
      ranges: [
        [19, 23],
        [30, parent.text.length],
      ],
    },
    parent,
  );
  const child = await open(store, excerpt);
  const listed = await child.exec("list_docs().map(({ id, path, start, end }) => [id, path, P.slice(start, end)])");
  expect(listed.result_json).toEqual([
    ["a.txt:0-4", "-", "firs"],
    ["b.txt", "-", "second\n"],
  ]);
  await child.close();
  const again = await open(store, excerpt);
  expect(again.stats()).toMatchObject({ sources: ["context"], document_count: 2 });
  const loads = (await store.journal(again.id))
    .map(({ record }) => readRecord(record))
    .flatMap((record) => (record.record === "rlm_start" && record.kind === "load" ? [record.input] : []));
  expect(loads).toEqual([excerpt]);
});

test("all of P is the parent's context itself, and a text is one document", async () => {
  const { store, parent } = await parentOver({ "a.txt": "first\n", "b.txt": "second\n" });
  const whole = await open(store, excerptInput({ whole: true }, parent));
  expect(whole.stats()?.context_hash).toBe(parent.hash);
  await whole.close();
  const text = await open(store, excerptInput({ text: "one\ntwo" }, parent), "text");
  expect((await text.exec("[P, list_docs().length]")).result_json).toEqual(["one\ntwo", 1]);
});

test("a lost context of a child is made again from the parent's, and refused by name if that is lost too", async () => {
  const { store, parent } = await parentOver({ "a.txt": "first\n", "b.txt": "second\n" });
  const excerpt = excerptInput({ ranges: [[20, 22]] }, parent);
  const child = await open(store, excerpt);
  const hash = child.stats()?.context_hash;
  const key = await contextKey(store, child.id);
  await child.close();
  const without = (lost: readonly string[]): Store => ({
    ...store,
    context: (wanted) =>
      lost.includes(wanted)
        ? Promise.reject(new RlmError("context_lost", `the context ${wanted} is damaged`, { suggestion: "" }))
        : store.context(wanted),
  });
  const again = await open(without([key]), excerpt);
  expect(again.stats()?.context_hash).toBe(hash);
  await again.close();
  const message = expect.stringContaining(`a part of the context ${parent.key}`);
  await expect(open(without([key, parent.key]), excerpt)).rejects.toMatchObject({ code: "context_lost", message });
});

test("a load of a child that was interrupted is done again when the child is opened", async () => {
  const { store, parent } = await parentOver({ "a.txt": "first\n" });
  const excerpt = excerptInput({ text: "a text" }, parent);
  const failing: Store = {
    ...store,
    commit: (id, step) => (step.checkpoint ? Promise.reject(new Error("killed")) : store.commit(id, step)),
  };
  await expect(open(failing, excerpt)).rejects.toThrow("killed");
  const child = await open(store, excerpt);
  expect((await child.exec("P")).result_json).toBe("a text");
});

test("places of a child's P are told in the caller's offsets", async () => {
  const { parent } = await parentOver({ "a.txt": "first\n", "b.txt": "second\n" });
  const inParent = (input: ExcerptInput, range: readonly [number, number]) => rangesInParent(input, parent, range);
  const part = excerptInput({ ranges: [[19, 23]] }, parent);
  expect(inParent(part, [23, 25])).toEqual([[19, 21]]);
  expect(inParent(excerptInput({ whole: true }, parent), [19, 21])).toEqual([[19, 21]]);
  expect(inParent(excerptInput({ text: "\uFEFFabc" }, parent), [0, 2])).toEqual([[1, 3]]);
});

async function parentOver(files: Record<string, string>): Promise<{ store: Store; parent: Context }> {
  const store = await openStore(null);
  onTestFinished(() => store[Symbol.asyncDispose]());
  const folder = folderWith(files);
  await using session = await openSessionWith({ roots: [folder], cwd: folder }, { store });
  await session.load(join(folder, "."));
  return { store, parent: await storedContext(store, await contextKey(store, session.id)) };
}

async function open(store: Store, excerpt: ExcerptInput, name = "child") {
  const session = await openSessionWith({ session: name }, { store, excerpt });
  onTestFinished(() => session.close());
  return session;
}
