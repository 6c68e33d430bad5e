import fc from "fast-check";
import { expect, test } from "vitest";
import type { Document } from "../../../../src/context/context.ts";
import { openTable, type TableDocuments } from "../../../../src/context/text/table.ts";
import { writeChecked } from "../../../../src/platform/checked-file.ts";
import { largeText } from "../../../support/large-context.ts";
import { folderWith } from "../../../support/tree.ts";

/** Documents with these ids, one unit each, as a table gives them. */
function documentsOf(ids: readonly string[]): readonly Document[] {
  return ids.map((id, at) => ({ id, path: `/s/${id}`, start: 2 * at, end: 2 * at + 1, size: 1 }));
}

function tableOf(documents: readonly Document[]): TableDocuments {
  const { large } = largeText({ parts: ["x\n".repeat(documents.length)], documents });
  if (!large) throw new Error("the text does not lie in files");
  return large.documents();
}

const idsOf = (documents: Iterable<Document>) => Array.from(documents, ({ id }) => id);

// Surrogates are less than the last characters of the basic plane in UTF-16, and greater in UTF-8.
const IDS = [
  "b",
  "a",
  "",
  "ab",
  "a/b",
  "a/b/c",
  "é",
  "e\u0301",
  "漢",
  "😀",
  "\uffee",
  "\ue000",
  "a\n",
  "Ä",
  "a/",
  "😀/x",
];

test("documents are had by number and by id, and come in the order of P", () => {
  const documents = documentsOf(IDS);
  const table = tableOf(documents);
  expect(table.length).toBe(IDS.length);
  expect([...table]).toEqual(documents);
  for (const [at, document] of documents.entries()) {
    expect(table.at(at)).toEqual(document);
    expect(table.named(document.id)).toEqual(document);
  }
  expect([table.at(-1), table.at(IDS.length), table.named("c"), table.named("a/b/"), table.named("\uffff")]).toEqual(
    Array(5).fill(undefined),
  );
});

test("documents whose ids begin so are those that startsWith finds, in the order of P", () => {
  const id = fc.string({ unit: fc.constantFrom("a", "b", "/", "é", "😀", "\uffee"), maxLength: 4 });
  fc.assert(
    fc.property(fc.uniqueArray(id, { maxLength: 40 }), fc.array(id, { minLength: 10 }), (ids, prefixes) => {
      const documents = documentsOf(ids);
      const table = tableOf(documents);
      for (const prefix of [...prefixes, ...ids, "", "\uffff"]) {
        const expected = documents.filter((one) => one.id.startsWith(prefix));
        const begun = table.begunWith(prefix);
        expect(begun.length).toBe(expected.length);
        expect(begun.slice(0, begun.length)).toEqual(expected);
        expect(begun.slice(1, 3)).toEqual(expected.slice(1, 3));
        expect(table.named(prefix)).toEqual(documents.find((one) => one.id === prefix));
      }
    }),
    { numRuns: 15 },
  );
});

test("a document keeps all that is known of it", () => {
  const [first, second, third] = documentsOf(["a", "b", "c"]) as readonly [Document, Document, Document];
  const documents: readonly Document[] = [
    { ...first, replaced_by: "c", path: "-" },
    {
      ...second,
      original: { sha256: "0".repeat(64), bytes: 7, kind: "pdf", reader: "pdf/1" },
      places: [
        [0, "p.1"],
        [1, "Sales größe 😀", 5],
      ],
      lost: [{ kind: "image", count: 2, where: ["p.1", 3] }],
    },
    third,
  ];
  const table = tableOf(documents);
  expect([...table]).toEqual(documents);
  expect(table.named("b")).toEqual(documents[1]);
});

test("a table may have no documents, and 10,001", () => {
  const none = tableOf([]);
  expect([none.length, none.at(0), none.named("a"), none.begunWith("a").length, [...none]]).toEqual([
    0,
    undefined,
    undefined,
    0,
    [],
  ]);
  const ids = Array.from({ length: 10_001 }, (_, n) => `logs/${(n * 7919) % 10_001}.txt`);
  const many = tableOf(documentsOf(ids));
  expect(idsOf(many)).toEqual(ids);
  expect(many.named("logs/4711.txt")?.start).toBe(2 * ids.indexOf("logs/4711.txt"));
  const begun = ids.filter((id) => id.startsWith("logs/99"));
  expect(idsOf(many.begunWith("logs/99").slice(0, begun.length + 5))).toEqual(begun);
  expect(many.begunWith("").length).toBe(10_001);
  expect(idsOf(many.begunWith("").slice(10_000, 10_005))).toEqual(ids.slice(10_000));
});

test("a file that is whole and no table is refused", () => {
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.alloc(48, 0x41),
    // A table of another form.
    Buffer.from(Float64Array.of(2, 0, 0, 0, 0, 0).buffer),
    Buffer.from(Float64Array.of(1, 5, 5, 0, 1, 2 ** 40).buffer),
  ]) {
    const file = writeChecked(folderWith());
    file.put(bytes);
    const { path } = file.end();
    expect(() => openTable(path)).toThrow(
      expect.objectContaining({ code: "context_lost", message: `${path} is no table of a text` }),
    );
  }
});
