import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { RlmError } from "../../../../runtime/index.ts";
import type { SmallContext } from "../../../../src/context/index.ts";
import { changedReader, storedContext } from "../../../../src/session/contexts/contexts.ts";
import type { Host } from "../../../../src/session/env.ts";
import { contextParts } from "../../../../src/session/index.ts";
import { openSessionWith } from "../../../../src/session/session.ts";
import { forkSession } from "../../../../src/session/stored/sessions.ts";
import { type GcRule, openStore, type Store } from "../../../../src/store/index.ts";
import { contextKey } from "../../../support/context-key.ts";
import { contextOf, convertedFile } from "../../../support/converted.ts";
import { type Operation, storeAround } from "../../../support/store-around.ts";
import { folderWith } from "../../../support/tree.ts";

/** The same text, of a PDF and of a DOCX. */
const body = "the words\n";
const [pdf, docx] = [
  await contextOf([convertedFile("a", [{ label: "p.1", body }])]),
  await contextOf([convertedFile("a", [{ label: "p.1", body }], { kind: "docx", reader: "docx/1" })]),
];
const SEEN =
  "const { kind, places } = list_docs()[0]; [kind, places, doc_at(P.length - 1).place, stats().converted.count]";
const RULE: GcRule = { now: 0, anonymousMs: 1e9, namedMs: null, pi: false, dryRun: false };

async function emptyStore(): Promise<Store> {
  const store = await openStore(null);
  onTestFinished(() => store[Symbol.asyncDispose]());
  return store;
}

async function seen(store: Store, session: string, parts: Host = {}) {
  await using opened = await openSessionWith({ session }, { store, ...parts });
  return [opened.id, (await opened.exec(SEEN)).result_json] as const;
}

const loaded = (store: Store, session: string, context: SmallContext) => seen(store, session, contextParts(context));

test("originals whose texts are equal are two contexts, and sessions and forks keep the places of their own", async () => {
  expect([docx.hash, docx.parts]).toEqual([pdf.hash, pdf.parts]);
  expect(docx.key).not.toBe(pdf.key);
  const store = await emptyStore();
  const [first] = await loaded(store, "pdf", pdf);
  const [second] = await loaded(store, "docx", docx);
  expect([await contextKey(store, first), await contextKey(store, second)]).toEqual([pdf.key, docx.key]);
  const forking = { id: "F1", name: "fork", checkpoint: null, origin: "library", at: 1, settings: () => null } as const;
  await forkSession(store, "pdf", forking);
  const others = ["p.1", 1];
  expect(await seen(store, "pdf")).toEqual([first, ["pdf", 1, ...others]]);
  expect(await seen(store, "docx")).toEqual([second, ["docx", 1, ...others]]);
  expect(await seen(store, "fork")).toEqual(["F1", ["pdf", 1, ...others]]);
  // A context goes with its last session, and the text that the other one shares with it stays.
  await store.remove(first);
  expect(await store.gc(RULE)).toMatchObject({ contexts: 0 });
  await store.remove("F1");
  expect(await store.gc(RULE)).toMatchObject({ contexts: 1 });
  expect(await store.hasContext(pdf.key)).toBe(false);
  expect((await storedContext(store, docx.key)).documents).toEqual(docx.documents);
});

/** What a process does once it has the session's lease. */
const KEEPS: ReadonlySet<Operation> = new Set(["commit", "putContext"]);

test("a load goes on after a death before or after each of its writes, and its key and places are the same", async () => {
  const whole = await emptyStore();
  let writes = 0;
  const counted = storeAround(whole, (name, run) => {
    writes += KEEPS.has(name) ? 1 : 0;
    return run();
  });
  await loaded(counted, "s", pdf);
  const operations: string[] = [];
  for (let nth = 1; nth <= writes; nth++) {
    for (const isAfter of [false, true]) {
      const store = await emptyStore();
      let count = 0;
      const dying = storeAround(store, async (name, run) => {
        if (name === "release") return run();
        if (count >= nth) throw new Error("the process is gone");
        if (!KEEPS.has(name) || ++count !== nth) return run();
        operations.push(name);
        if (isAfter) await run();
        throw new Error("the process is gone");
      });
      await loaded(dying, "s", pdf).catch(() => {});
      // A context that nobody has come to name may be dropped, and is loaded again.
      await store.gc(RULE);
      const again = await openSessionWith({ session: "s" }, { store, ...contextParts(pdf) });
      await again.discard();
      expect((await again.exec(SEEN)).result_json, `${nth} ${isAfter}`).toEqual(["pdf", 1, "p.1", 1]);
      await again.close();
      expect(await contextKey(store, again.id)).toBe(pdf.key);
    }
  }
  expect(operations).toContain("putContext");
});

test("a lost context whose documents another reader makes into other text is refused, and both readers are named", async () => {
  const folder = folderWith({ "a.txt": "one" });
  const store = await emptyStore();
  const options = { session: "s", roots: [folder] };
  await using first = await openSessionWith(options, { store });
  await first.load(join(folder, "a.txt"));
  await first.close();
  const { documents, ...index } = await storedContext(store, await contextKey(store, first.id));
  const original = { ...pdf.documents[0]?.original };
  const lost: Store = {
    ...store,
    context: () => Promise.reject(new RlmError("context_lost", "a part is damaged", { suggestion: "" })),
    contextIndex: async () =>
      JSON.parse(
        JSON.stringify({ stats: index.stats, documents: [...documents].map((one) => ({ ...one, original })) }),
      ),
  };
  writeFileSync(join(folder, "a.txt"), "two");
  await expect(openSessionWith(options, { store: lost })).rejects.toMatchObject({
    code: "context_lost",
    message: expect.stringMatching(
      /a part is damaged; the text of a\.txt was made by pdf\/1 unpdf 1\.8\.1, now it is loaded as it is$/,
    ),
    suggestion: expect.stringContaining("the build of Belay that loaded it"),
  });
});

test("readers are compared document by document, where the original is the same", async () => {
  const kept = JSON.parse(JSON.stringify({ documents: [{ id: "other" }, ...pdf.documents] }));
  const made = convertedFile("a", [{ label: "p.1", body }], { reader: "pdf/1 unpdf 1.9.0" });
  const newer = await contextOf([made]);
  expect(changedReader(kept, newer)).toBe("the text of a was made by pdf/1 unpdf 1.8.1, this is pdf/1 unpdf 1.9.0");
  const changed = await contextOf([{ ...made, ...(made.original && { original: { ...made.original, sha256: "1" } }) }]);
  const asBefore = [changedReader(kept, pdf), changedReader(kept, changed), changedReader(null, newer)];
  expect([...asBefore, changedReader({ documents: 1 }, newer)]).toEqual([null, null, null, null]);
});
