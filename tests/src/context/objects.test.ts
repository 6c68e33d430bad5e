import fc from "fast-check";
import { expect, test } from "vitest";
import { type Context, extendContext } from "../../../src/context/context.ts";
import { findObject, type ObjectSource, objectId, objectOf } from "../../../src/context/objects.ts";
import { textFile } from "../../support/converted.ts";
import { largeContext } from "../../support/large-context.ts";

/** Two texts whose digests begin with the same 12 digits. */
const TWINS = ["object 357a6074a7df", "object 50e2b9b9dd5c"];

test("an id is made of the text alone, and of its UTF-8", () => {
  expect(objectId("abc")).toBe("rlm-obj-ba7816bf8f01");
  expect(objectId("")).toBe("rlm-obj-e3b0c44298fc");
  expect(objectId("a\ud800b")).toBe(objectId("a\ufffdb"));
  expect(objectId("é")).not.toBe(objectId("e\u0301"));
});

test("every document is found by its id, by any beginning of six digits or more, and by the id of the document", async () => {
  const texts = fc.array(fc.string({ unit: "grapheme", maxLength: 40 }), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(texts, fc.integer({ min: 6, max: 12 }), fc.boolean(), async (all, digits, bare) => {
      const sources = await sourcesOf({ history: all.map((text, at) => [`history/${at}`, text]) });
      for (const [at, text] of all.entries()) {
        const id = objectId(text);
        const short = (bare ? "" : "rlm-obj-") + id.slice(8, 8 + digits);
        for (const name of [id, short, short.toUpperCase().replace("RLM-OBJ", "rlm-obj")]) {
          const found = await findObject(sources, name, noPause);
          expect(textOf(found)).toBe(text.toWellFormed());
          expect(found.id).toBe(id);
        }
        expect((await findObject(sources, `history/${at}`, noPause)).document.id).toBe(`history/${at}`);
      }
    }),
    { numRuns: 12 },
  );
});

test("of two documents with one text the first is given, and history stands before P", async () => {
  const sources = await sourcesOf({
    history: [["h", "same"]],
    P: [
      ["p", "same"],
      ["q", "same"],
    ],
  });
  const found = await findObject(sources, objectId("same"), noPause);
  expect([found.of, found.document.id]).toEqual(["history", "h"]);
  expect((await findObject(sources, "q", noPause)).document.id).toBe("q");
});

test("an id that two texts share is ambiguous, and so is the id of a document of both; the ids of their documents name them", async () => {
  const sources = await sourcesOf({
    history: [
      ["a.txt", TWINS[0] ?? ""],
      ["same", "one"],
    ],
    P: [
      ["b.txt", TWINS[1] ?? ""],
      ["same", "two"],
    ],
  });
  await expect(findObject(sources, "rlm-obj-49b240a5625b", noPause)).rejects.toMatchObject({
    code: "object_ambiguous",
    message: "rlm-obj-49b240a5625b can be rlm-obj-49b240a5625b (history: a.txt), rlm-obj-49b240a5625b (P: b.txt)",
  });
  expect(textOf(await findObject(sources, "b.txt", noPause))).toBe(TWINS[1]);
  await expect(findObject(sources, "same", noPause)).rejects.toMatchObject({ code: "object_ambiguous" });
});

test("an unknown id is refused with near ones, and a short one says how long it has to be", async () => {
  const sources = await sourcesOf({ P: [["src/auth.ts", "abc"]] });
  const refused = (id: string) => findObject(sources, id, noPause).then(String, (error: Error) => error.message);
  expect(await refused("rlm-obj-ba7800")).toBe(
    "object rlm-obj-ba7800 not found on this branch; did you mean rlm-obj-ba7816bf8f01?",
  );
  expect(await refused("rlm-obj-000000000000")).toBe("object rlm-obj-000000000000 not found on this branch");
  expect(await refused("src/auht.ts")).toBe("object src/auht.ts not found on this branch; did you mean src/auth.ts?");
  expect(await refused("rlm-obj-ba781")).toBe("rlm-obj-ba781 is too short");
  expect(await refused("")).toContain("not found on this branch");
  await expect(findObject([], "rlm-obj-ba7816", noPause)).rejects.toMatchObject({ code: "object_not_found" });
});

test("a large document is read in slices, and only once", async () => {
  const [source] = await sourcesOf({ P: [["large", "x".repeat(3_500_000)]] });
  if (!source) throw new Error("no source");
  const [document] = source.context.documents;
  if (!document) throw new Error("no document");
  const slices: number[] = [];
  const pause = async (bytes: number) => void slices.push(bytes);
  const first = await objectOf({ ...source, document }, pause);
  expect(slices).toEqual([1_048_576, 1_048_576, 1_048_576, 354_272]);
  expect(await objectOf({ ...source, document }, pause)).toEqual(first);
  expect(slices).toHaveLength(4);
});

type Files = readonly (readonly [id: string, text: string])[];

async function sourcesOf(given: { readonly history?: Files; readonly P?: Files }): Promise<ObjectSource[]> {
  const sources: ObjectSource[] = [];
  if (given.history) sources.push({ of: "history", context: await contextOf(given.history) });
  if (given.P) sources.push({ of: "P", context: await contextOf(given.P) });
  return sources;
}

function contextOf(files: Files): Promise<Context> {
  const loaded = files.map(([relative, text]) => {
    const separator = Buffer.from(`\n===== ${relative} =====\n`);
    return { relative, path: "-", separator, bytes: Buffer.from(text) };
  });
  return extendContext(undefined, { name: "test", files: loaded, skipped: [] }, noPause);
}

function textOf({
  context,
  document,
}: Pick<ObjectSource, "context"> & { document: { start: number; end: number } }): string {
  return context.text.slice(document.start, document.end);
}

async function noPause(): Promise<void> {}

test("documents of a large P are named by their own ids, and none of its text is read", async () => {
  const context = await largeContext([[textFile("a.txt", "same"), textFile("b.txt", "other")]]);
  const [history] = await sourcesOf({ history: [["h", "same"]] });
  const P: ObjectSource = { of: "P", context };
  const sources = history ? [history, P] : [P];
  const document = context.documents.at(1);
  if (!document) throw new Error("there is no document");
  expect((await objectOf({ ...P, document }, noPause)).id).toBe("b.txt");
  expect(await findObject(sources, "b.txt", noPause)).toMatchObject({ of: "P", id: "b.txt" });
  expect(await findObject(sources, objectId("same"), noPause)).toMatchObject({ of: "history" });
  await expect(findObject(sources, objectId("other"), noPause)).rejects.toMatchObject({ code: "object_not_found" });
});
