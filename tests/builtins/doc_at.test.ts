import fc from "fast-check";
import { expect, test } from "vitest";
import { doc_at } from "../../builtins/doc_at.ts";
import { list_docs } from "../../builtins/list_docs.ts";
import { stats } from "../../builtins/stats.ts";
import type { SmallContext } from "../../src/context/context.ts";
import { openServices } from "../../src/session/machine/services.ts";
import { scopeWith } from "../support/builtin-services.ts";
import { contextOf, convertedFile, type Section, textFile } from "../support/converted.ts";

/** What cells get of this context. */
function cellsOver(context: SmallContext) {
  const { text, ...others } = context;
  const services = openServices();
  services.use({ ...others, text: text.data, indexDir: "" });
  const given = { ...services, described: [] };
  return {
    P: text.slice(0, text.length),
    placeAt: (offset: number) => doc_at.run(given, [offset], scopeWith({})),
    list: () => list_docs.run(given, [], scopeWith({})),
    stats: () => stats.run(given, [], scopeWith({})),
  };
}

const word = fc.oneof(
  fc.constantFrom("[p.99]", "[Sales]", "\t", "\r", "\\n", "\ud800", "é", "\u{1f600}", "a"),
  fc.string({ maxLength: 5 }).map((text) => text.replaceAll("\n", " ")),
);
const line = fc.array(word, { maxLength: 4 }).map((words) => `${words.join("")}\n`);
const page = fc.record({
  label: fc.constantFrom("p.1", "slide 3", "Sales", "x!y"),
  lines: fc.array(line, { maxLength: 3 }),
});
const part = fc.record({ ...{ page }, firstRow: fc.option(fc.nat({ max: 50 }), { nil: undefined }) });
const documents = fc.array(fc.array(part, { maxLength: 4 }), { minLength: 1, maxLength: 3 });

test("every section, and every row of one, has its place, whatever the text says", async () => {
  await fc.assert(
    fc.asyncProperty(documents, async (all) => {
      const sections = all.map((parts) =>
        parts.map(({ page: { label, lines }, firstRow }) => ({ label, lines, body: lines.join(""), firstRow })),
      );
      const files = sections.map((parts, n) => convertedFile(`d${n}`, parts.map(given)));
      const context = await contextOf([textFile("text", "[p.99]\n"), ...files]);
      const { placeAt } = cellsOver(context);
      for (const [n, parts] of sections.entries()) {
        const document = context.documents[n + 1];
        for (const [at, { label, lines, firstRow }] of parts.entries()) {
          let offset = (document?.start ?? 0) + (document?.places?.[at]?.[0] ?? 0);
          expect(placeAt(offset)).toMatchObject({ id: `d${n}`, place: label });
          offset += `[${label}]\n`.length;
          for (const [row, text] of lines.entries()) {
            // Row 0 has the names of the columns.
            const place = firstRow === undefined || firstRow + row === 0 ? label : `${label}!${firstRow + row}`;
            expect(placeAt(offset)).toMatchObject({ place });
            expect(placeAt(offset + text.length - 1)).toMatchObject({ place });
            offset += text.length;
          }
        }
      }
    }),
  );
});

const given = ({ firstRow, ...section }: Omit<Section, "firstRow"> & { readonly firstRow: number | undefined }) =>
  firstRow === undefined ? section : { ...section, firstRow };

test("cells are told kinds and how many places there are; a text has none, and no page 99", async () => {
  const pages = [1, 2, 3].map((n) => ({ label: `p.${n}`, body: "words [p.99]\n" }));
  const context = await contextOf([textFile("a.txt", "[p.99]\n"), convertedFile("report.pdf", pages)]);
  const { P, placeAt, list, stats } = cellsOver(context);
  expect(list()).toMatchObject([
    { id: "a.txt", kind: "text", places: 0 },
    { id: "report.pdf", kind: "pdf", places: 3 },
  ]);
  expect(stats()).toMatchObject({ docs: 2, converted: { count: 1, files: [{ id: "report.pdf", places: 3 }] } });
  expect(cellsOver(await contextOf([textFile("a.txt", "")])).stats()).not.toHaveProperty("converted");
  expect(placeAt(P.indexOf("[p.99]"))).toMatchObject({ id: "a.txt", line: 1, place: null });
  expect(placeAt(P.lastIndexOf("[p.99]"))).toMatchObject({ id: "report.pdf", line: 6, column: 7, place: "p.3" });
  // Between documents the following one begins.
  expect(placeAt(P.indexOf("===== report.pdf"))).toMatchObject({ line: 1, place: "p.1" });
});
