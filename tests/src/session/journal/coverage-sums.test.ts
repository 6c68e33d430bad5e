import { basename } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Document } from "../../../../src/context/index.ts";
import { SETS, type ToldCoverage } from "../../../../src/session/journal/coverage.ts";
import {
  type CoveredContext,
  coveredContext,
  listedDocuments,
  sumCoverage,
} from "../../../../src/session/journal/coverage-sums.ts";
import { largeText } from "../../../support/large-context.ts";
import { folderWith } from "../../../support/tree.ts";

const NO_RANGES = { shown: [], found: [], ranked: [], given: [], printed: [] };

/** Documents by their sizes, with a separator of 3 characters before each. */
function documentsOf(sizes: readonly number[]): Document[] {
  let at = 0;
  return sizes.map((size, number) => {
    const start = at + 3;
    at = start + size;
    return { id: `d${number}`, path: `/d${number}`, start, end: at, size };
  });
}

/** The context as a store keeps it whose table lies in a folder of texts. */
async function inStore(documents: readonly Document[]): Promise<CoveredContext | null> {
  const folder = folderWith();
  const { data } = largeText({ parts: [], documents, folder });
  const stats = { context_hash: "h", length_chars: 500, skipped: { count: 0, unread: 0, files: [], reasons: {} } };
  const index = { stats, documents: basename(data.table) };
  const hold = async () => ({ [Symbol.dispose]() {} });
  return coveredContext({ contextIndex: async () => index, texts: { folder, isOwn: false, hold } }, "key");
}

const range = fc
  .tuple(fc.nat(400), fc.integer({ min: 1, max: 60 }))
  .map(([start, units]) => [start, start + units] as const);

test("documents in a table are summed up as those at hand are", async () => {
  const sizes = fc.array(fc.nat(9), { minLength: 1, maxLength: 40 });
  const looks = fc.array(fc.tuple(fc.constantFrom(...SETS), range), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(sizes, looks, fc.integer({ min: 1, max: 9 }), async (each, execs, most) => {
      const documents = documentsOf(each);
      const coverage = execs.map(([set, one]): { coverage: ToldCoverage } => ({
        coverage: { context_hash: "h", ranges: { ...NO_RANGES, [set]: [one] } },
      }));
      const kept = await inStore(documents);
      if (!kept) throw new Error("the context is lost");
      const table = sumCoverage(kept, coverage);
      const listed = sumCoverage({ hash: "h", length: 500, documents: listedDocuments(documents) }, coverage);
      expect(table.totals).toEqual(listed.totals);
      for (let grade = 0; grade < 5; grade++) {
        const all = listed.largest(grade, documents.length);
        const expected = all.toSorted((one, other) => other.chars - one.chars || one.at - other.at);
        expect(table.largest(grade, most)).toEqual(expected.slice(0, most));
        for (const { at } of all) expect(table.gradeAt(documents[at]?.start ?? 0)).toBe(grade);
      }
    }),
    { numRuns: 15 },
  );
});

test("a context whose table is gone is told as one that is lost", async () => {
  const stats = { context_hash: "h", length_chars: 5, skipped: { count: 0, unread: 0, files: [], reasons: {} } };
  const hold = async () => ({ [Symbol.dispose]() {} });
  for (const documents of ["a".repeat(64), "../../etc/passwd"]) {
    const store = {
      contextIndex: async () => ({ stats, documents }),
      texts: { isOwn: false, folder: folderWith(), hold },
    };
    expect(await coveredContext(store, "key")).toBeNull();
  }
});
