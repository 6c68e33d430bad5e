import { expect, test } from "vitest";
import { load } from "../../../src/context/load/load.ts";
import { folderWith } from "../../support/tree.ts";
import { zip } from "./packed.ts";

// What people see only once they show it: it is read and told, or left out and told.

async function read(name: string, parts: Readonly<Record<string, string>>) {
  const file = zip(Object.entries(parts).map(([part, data]) => ({ name: part, data })));
  const cwd = folderWith({ [name]: file });
  const { text, stats } = await load({ kind: "path", path: name }, { cwd, roots: [cwd] });
  return { text: text.slice(0, text.length), lost: stats.converted?.files[0]?.lost ?? [] };
}

const RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const related = (type: string, targets: readonly string[]) =>
  `<Relationships>${targets.map((target, n) => `<Relationship Id="r${n}" Type="${RELATION}/${type}" Target="${target}"/>`).join("")}</Relationships>`;
const TYPES = { "[Content_Types].xml": "<Types/>" };
const loss = (kind: string, count: number, ...where: readonly (string | number)[]) => ({ kind, count, where });

test("hidden slides and shapes of PPTX are read, marked and told", async () => {
  const slide = (words: string, look = "", shape = "") =>
    `<p:sld ${look}><p:sp><p:cNvPr ${shape}/><a:p><a:r><a:t>${words}</a:t></a:r></a:p></p:sp></p:sld>`;
  const { text, lost } = await read("a.pptx", {
    ...TYPES,
    "ppt/presentation.xml":
      '<p:presentation><p:sldId r:id="r0"/><p:sldId r:id="r1"/><p:sldId r:id="r2"/></p:presentation>',
    "ppt/_rels/presentation.xml.rels": related("slide", ["s0.xml", "s1.xml", "s2.xml"]),
    "ppt/s0.xml": slide("one", 'show="1"'),
    "ppt/s1.xml": slide("two", 'show="0"'),
    "ppt/s2.xml": slide("three", "", 'hidden="1"'),
  });
  expect(text).toBe("[slide 1]\none\n\n[slide 2, hidden]\ntwo\n\n[slide 3]\nthree\n");
  expect(lost).toEqual([loss("hidden slide", 1, 2), loss("hidden shape", 1)]);
});

test("hidden sheets, rows and columns of XLSX are read and told", async () => {
  const cell = (at: string, value: number) => `<c r="${at}"><v>${value}</v></c>`;
  const { text, lost } = await read("a.xlsx", {
    ...TYPES,
    "xl/workbook.xml":
      '<workbook><sheets><sheet name="A" r:id="r0"/><sheet name="B" r:id="r1" state="veryHidden"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": related("worksheet", ["a.xml", "b.xml"]),
    "xl/a.xml": `<worksheet><cols><col min="2" max="3" hidden="1"/></cols><sheetData><row r="1">${cell("A1", 1)}${cell("B1", 2)}</row><row r="2" hidden="1">${cell("A2", 3)}${cell("B2", 4)}</row><row r="3" hidden="1"/></sheetData></worksheet>`,
    "xl/b.xml": `<worksheet><sheetFormatPr zeroHeight="1"/><sheetData><row r="1">${cell("A1", 5)}</row><row r="2" hidden="0">${cell("A2", 6)}</row></sheetData></worksheet>`,
  });
  expect(text).toBe("[A]\n1\t2\n3\t4\n\n[B, hidden]\n5\n6\n");
  expect(lost).toEqual([loss("hidden row", 2, "A", "B"), loss("hidden column", 1, "A"), loss("hidden sheet", 1, "B")]);
});

const open = (kind: string, styles: string, body: string) => ({
  mimetype: `application/vnd.oasis.opendocument.${kind}`,
  "content.xml": `<office:document-content><office:automatic-styles>${styles}</office:automatic-styles><office:body>${body}</office:body></office:document-content>`,
});

test("hidden sheets, rows, groups and columns of ODS are read and told", async () => {
  const cell = (words: string) => `<table:table-cell><text:p>${words}</text:p></table:table-cell>`;
  const row = (cells: string, look = "") => `<table:table-row ${look}>${cells}</table:table-row>`;
  const rows = [
    row(cell("a") + cell("b")),
    row(cell("c"), 'table:visibility="collapse"'),
    row(cell("d"), 'table:visibility="filter" table:number-rows-repeated="2"'),
    `<table:table-row-group table:display="false">${row(cell("e"))}</table:table-row-group>`,
    row("<table:table-cell/>", 'table:visibility="collapse"'),
  ];
  const style =
    '<style:style style:name="t" style:family="table"><style:table-properties table:display="false"/></style:style>';
  const columns = '<table:table-column/><table:table-column table:visibility="collapse"/>';
  const { text, lost } = await read(
    "a.ods",
    open(
      "spreadsheet",
      style,
      `<table:table table:name="A">${columns}${rows.join("")}</table:table><table:table table:name="B" table:style-name="t">${row(cell("f"))}</table:table>`,
    ),
  );
  expect(text).toBe("[A]\na\tb\nc\nd\nd\ne\n\n[B, hidden]\nf\n");
  expect(lost).toEqual([loss("hidden row", 4, "A"), loss("hidden column", 1, "A"), loss("hidden sheet", 1, "B")]);
});

test("hidden slides of ODP are read, marked and told", async () => {
  const style =
    '<style:style style:name="h" style:family="drawing-page"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>';
  const slide = (words: string, look = "") => `<draw:page ${look}><text:p>${words}</text:p></draw:page>`;
  const { text, lost } = await read(
    "a.odp",
    open("presentation", style, `${slide("one")}${slide("two", 'draw:style-name="h"')}`),
  );
  expect(text).toBe("[slide 1]\none\n\n[slide 2, hidden]\ntwo\n");
  expect(lost).toEqual([loss("hidden slide", 1, 2)]);
});

test("hidden words of ODT are left out and told, as those of DOCX are", async () => {
  const style =
    '<style:style style:name="h" style:family="text"><style:text-properties text:display="none"/></style:style><style:style style:name="p" style:family="paragraph"><style:text-properties text:display="none"/></style:style>';
  const body = [
    '<text:p>seen <text:span text:style-name="h">span</text:span>words</text:p>',
    '<text:p text:style-name="p">paragraph</text:p>',
    '<text:section text:display="none"><text:p>section</text:p></text:section>',
    '<text:p>before<text:hidden-paragraph text:is-hidden="true"/>behind</text:p>',
    '<text:p>field<text:hidden-text text:is-hidden="true" text:string-value="value"/></text:p>',
    '<text:p>shown<text:hidden-paragraph text:is-hidden="false"/></text:p>',
    "<text:p>end</text:p>",
  ];
  const { text, lost } = await read("a.odt", open("text", style, `<office:text>${body.join("")}</office:text>`));
  expect(text).toBe("seen words\n\nfield\n\nshown\n\nend\n");
  expect(lost).toEqual([loss("hidden text", 6)]);
});
