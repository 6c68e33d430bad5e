import fc from "fast-check";
import { expect, test } from "vitest";
import type { Document } from "../../../../src/context/context.ts";
import { openDocumentRows } from "../../../../src/context/text/document-rows.ts";
import { openLookup } from "../../../../src/context/text/lookup.ts";

const anyId = fc.string({ unit: fc.constantFrom("a", "b", "/", "é", "漢", "\ue000", "\uffee", "🎉"), maxLength: 6 });

test("rows give the documents, their order by ids, and whether an id is taken", () => {
  fc.assert(
    fc.property(fc.uniqueArray(anyId), fc.boolean(), anyId, (ids, isSorted, other) => {
      const all = isSorted ? [...ids].sort() : ids;
      const rows = openDocumentRows();
      const documents = all.map((id, at): Document => {
        const document = { id, path: `/s/${id}`, start: 2 ** 33 + at, end: 2 ** 33 + at + 1, size: 1 };
        return at % 2 === 0 ? document : { ...document, replaced_by: "x" };
      });
      for (const [at, document] of documents.entries()) {
        expect(rows.has(document.id)).toBe(false);
        rows.add(document);
        expect([document.id, all[0] ?? "", other].map(rows.has)).toEqual([
          true,
          true,
          all.indexOf(other) in all.slice(0, at + 1),
        ]);
      }
      expect(rows.count()).toBe(all.length);
      expect(documents.map((_, n) => rows.at(n))).toEqual(documents);
      expect(Array.from(rows.order(), (n) => all[n])).toEqual([...all].sort());
    }),
  );
});

test("a lookup finds the number that was put last for a text", () => {
  const anyText = fc.string({ unit: fc.constantFrom("a", "b", "é"), maxLength: 8 });
  fc.assert(
    fc.property(fc.array(anyText, { maxLength: 3000, size: "max" }), (texts) => {
      const lookup = openLookup((n) => texts[n] ?? "");
      const known = new Map<string, number>();
      for (const [n, text] of texts.entries()) {
        expect(lookup.find(text)).toBe(known.get(text));
        lookup.put(text, n);
        known.set(text, n);
      }
      for (const [text, n] of known) expect(lookup.find(text)).toBe(n);
      expect(lookup.find("another")).toBeUndefined();
    }),
    { numRuns: 8 },
  );
});
