import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Context, LoadedFile, SmallContext } from "../../../src/context/context.ts";
import { excerptOf, type Range } from "../../../src/context/excerpt.ts";
import { findObject, objectOf } from "../../../src/context/objects.ts";
import { openPlaces, partsOf } from "../../../src/context/text/places.ts";
import { anyParts, unitsToTry } from "../../support/both-kinds.ts";
import { contextOf, convertedFile, inMemory, textFile } from "../../support/converted.ts";
import { inFiles } from "../../support/large-context.ts";

// What a context in memory answers is held by the tests of each answer. Here the same context in
// files answers the same.

const noPause = async () => {};

/** A folder's files: texts whose characters lie at borders, and converted documents of pages and rows. */
const anyFiles: fc.Arbitrary<readonly (readonly LoadedFile[])[]> = fc
  .array(fc.tuple(anyParts, fc.constantFrom("text", "pdf", "xlsx")), { minLength: 1, maxLength: 2 })
  .map((loads) =>
    loads.map(([texts, kind], load) => texts.map((text, at) => fileOf(`${load}.${at}.${kind}`, text, kind))),
  );

function fileOf(id: string, text: string, kind: string): LoadedFile {
  if (kind === "text") return textFile(id, text);
  const middle = text.length >> 1;
  const sections = [
    { label: "one größe", body: text.slice(0, middle).toWellFormed() },
    { label: "two", body: text.slice(middle).toWellFormed() },
  ];
  return convertedFile(id, kind === "xlsx" ? sections.map((section) => ({ ...section, firstRow: 3 })) : sections, {
    kind,
  });
}

async function both(loads: readonly (readonly LoadedFile[])[]) {
  let memory: SmallContext | undefined;
  for (const files of loads) memory = await contextOf(files, memory);
  if (!memory) throw new Error("nothing was loaded");
  return { memory, files: inFiles(memory) };
}

/** Holds an answer of a context in files against the one of the same context in memory. */
function always(holds: (memory: SmallContext, files: Context, units: readonly number[]) => unknown): Promise<void> {
  const units = fc.array(fc.nat(), { minLength: 5, maxLength: 5 });
  const tried = fc.asyncProperty(anyFiles, units, async (loads, others) => {
    const { memory, files } = await both(loads);
    const parts = [...memory.documents].flatMap(({ start, end }, at, all) => [
      memory.text.slice(all[at - 1]?.end ?? 0, start),
      memory.text.slice(start, end),
    ]);
    await holds(memory, files, unitsToTry(parts, others));
  });
  return fc.assert(tried, { numRuns: 4 });
}

describe("a context in files answers as the same one in memory", () => {
  test("its documents and their text", async () => {
    await always((memory, files) => {
      expect([...files.documents]).toEqual(memory.documents);
      for (const { start, end } of memory.documents)
        expect(files.text.slice(start, end) === memory.text.slice(start, end)).toBe(true);
      expect([...partsOf(files.documents)]).toEqual([...partsOf(memory.documents)]);
    });
  });

  test("the places and lines of offsets", async () => {
    await always((memory, files, units) => {
      const known = openPlaces(memory.text, memory.documents);
      const places = openPlaces(files.text, files.documents);
      for (const unit of [...units, -1, memory.text.length + 1]) {
        expect(places.at(unit)).toEqual(known.at(unit));
        if (unit >= 0) expect(places.lineText(unit)).toBe(known.lineText(unit));
      }
    });
  });

  test("the excerpt of ranges", async () => {
    await always((memory, files, units) => {
      const sorted = [...units].sort((one, other) => one - other);
      const ranges = sorted.flatMap((start, at): Range[] => (at % 2 === 0 ? [[start, sorted[at + 1] ?? start]] : []));
      const known = excerptOf(memory, ranges);
      const excerpt = excerptOf(files, ranges);
      expect(excerpt.files.map(inMemory)).toEqual(known.files.map(inMemory));
      for (const range of ranges) expect(excerpt.toParent(range)).toEqual(known.toParent(range));
    });
  });

  test("the ids of objects, but that a large one has no ids of texts", async () => {
    await always(async (memory, files) => {
      for (const document of memory.documents) {
        const object = await objectOf({ of: "P", context: files, document }, noPause);
        expect(object.id).toBe(document.id);
        const found = await findObject([{ of: "P", context: files }], document.id, noPause);
        expect(found.document).toEqual(document);
      }
    });
  });
});
