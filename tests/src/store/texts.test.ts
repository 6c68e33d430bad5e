import { readdirSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keepContext } from "../../../src/session/contexts/contexts.ts";
import { storedContext } from "../../../src/session/index.ts";
import { findingsIn, openStore, type Store } from "../../../src/store/index.ts";
import { textFile } from "../../support/converted.ts";
import { largeContext } from "../../support/large-context.ts";
import { folderWith } from "../../support/tree.ts";
import { STORES, testOf } from "./stores.ts";

const FIRST = [textFile("a.txt", "first é\n"), textFile("b.txt", "second 😀\n")];
const APPENDED = [textFile("c.txt", "third\n")];

/** A large context whose files lie in the store, and which the store has. */
async function keptIn(store: Store, loads = [FIRST, APPENDED]) {
  using _held = await store.texts?.hold();
  const context = await largeContext(loads, store.texts?.folder);
  await keepContext(store, context);
  return context;
}

for (const kind of STORES) {
  const stored = testOf(kind);
  stored(`a store ${kind.kind} keeps large contexts in files, or refuses them by name`, async (store) => {
    if (store.texts === null) {
      await expect(keptIn(store)).rejects.toMatchObject({
        code: "context_too_large",
        suggestion: expect.stringContaining("Only a store in a folder keeps larger ones."),
      });
      return;
    }
    const made = await keptIn(store);
    const { text, documents, ...rest } = await storedContext(store, made.key);
    expect(text.large).toBeDefined();
    expect(text.slice(0, text.length)).toBe(made.text.slice(0, made.text.length));
    expect([...documents]).toEqual([...made.documents]);
    const { text: _text, documents: _documents, ...expected } = made;
    expect(rest).toEqual(expected);
    text[Symbol.dispose]();
  });
}

test("a context whose files are missing, cut or replaced is lost, by name", async () => {
  await using store = await openStore(folderWith());
  const { key } = await keptIn(store);
  const folder = store.texts?.folder ?? "";
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const lost = (problem: string) =>
      expect(storedContext(store, key)).rejects.toMatchObject({
        code: "context_lost",
        message: `context ${key}: ${path} ${problem}`,
      });
    const { size } = statSync(path);
    truncateSync(path, size - 1);
    await lost("was cut, or its end is damaged");
    rmSync(path);
    await lost("is missing");
    symlinkSync("/etc/passwd", path);
    await lost("is not a file");
    rmSync(path);
    writeFileSync(path, "");
    truncateSync(path, 2 ** 40);
    await expect(storedContext(store, key)).rejects.toMatchObject({
      message: expect.stringContaining("larger than a context can be"),
    });
    rmSync(path);
    await keptIn(store);
  }
  expect(await findingsIn(store)).toEqual([]);
});
