import { expect, test } from "vitest";
import { openParts } from "../../../../src/documents/archives.ts";
import { growing } from "../../../../src/documents/growing.ts";
import { readOds } from "../../../../src/documents/sheets/ods.ts";
import { readXlsx } from "../../../../src/documents/sheets/xlsx.ts";
import { zip } from "../packed.ts";

// Cells as programs write them, and what stands beside the cells of a sheet: a value, or a loss that is named.

type Parts = Readonly<Record<string, string>>;

const packed = (parts: Parts) => openParts(zip(Object.entries(parts).map(([name, data]) => ({ name, data }))));

/** Behind the text stand the losses: `comment 2 Sheet`. */
function described(text: ReturnType<typeof growing>): string {
  const { text: said, lost } = text.end();
  return [said.trimEnd(), ...lost.map(({ kind, count, where }) => [kind, count, ...where].join(" "))].join("\n");
}

const relation = (id: string, type: string, target: string) =>
  `<Relationship Id="${id}" Type="http://x/${type}" Target="${target}"/>`;
const relations = (...all: readonly string[]) => `<Relationships>${all.join("")}</Relationships>`;

/** The text and the losses of a workbook with a sheet of this content. */
async function xlsx(sheet: string, more: Parts = {}): Promise<string> {
  const text = growing(1e6);
  const parts = {
    "xl/workbook.xml":
      '<workbook><sheets><sheet name="S" r:id="s"/></sheets><definedNames><definedName>S!A1</definedName></definedNames></workbook>',
    "xl/_rels/workbook.xml.rels": relations(relation("s", "worksheet", "sheet.xml")),
    "xl/sheet.xml": `<worksheet>${sheet}</worksheet>`,
    "xl/sharedStrings.xml":
      "<sst><si><t>a_x000D_\nb_x005F_x0041_</t></si><si><t>\u6771</t><rPh><t>\u3068\u3046</t></rPh><phoneticPr/></si></sst>",
    "xl/styles.xml":
      '<styleSheet><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="46" applyNumberFormat="0"/><xf numFmtId="14" xfId="1"/></cellXfs></styleSheet>',
    ...more,
  };
  readXlsx(await packed(parts), text);
  return described(text);
}

const rows = (...all: readonly string[]) => `<sheetData>${all.map((row) => `<row>${row}</row>`).join("")}</sheetData>`;

test("cells of XLSX are what their types and styles make of them", async () => {
  const cells = [
    '<c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="b"><v>true</v></c><c t="e"><v>#N/A</v></c>',
    '<c t="str"><f>A1</f><v>_x0041_</v></c><c><v>_x0041_</v></c><c t="d"><v>2024-01-05</v></c><c s="1"><v>1.5</v></c>',
    '<c s="2"><v>45292</v></c><c s="9"><v>45292</v></c><c s="1" t="str"><v>1.5</v></c><c s="1"><v>2958466</v></c>',
    '<c t="inlineStr"><is><r><t>in</t></r><r><t xml:space="preserve"> line</t></r><rPh><t>no</t></rPh></is></c>',
    '<c t="d" s="2"><v>2024-01-05T00:00:00.000Z</v></c><c t="d" s="1"><v>1900-01-01T12:00:00</v></c><c t="d" s="2"><v>soon</v></c>',
    '<c r="C6" t="inlineStr"><is><t>third</t></is></c><c><v>4</v></c>',
  ];
  expect(await xlsx(rows(...cells))).toBe(
    [
      "[S]",
      "a\\nb_x0041_\t\u6771\tTRUE\t#N/A",
      "A\t_x0041_\t2024-01-05\t36:00:00",
      "2024-01-01\t45292\t1.5\t2958466",
      "in line",
      "2024-01-05\t1900-01-01 12:00:00\tsoon",
      "\t\tthird\t4",
    ].join("\n"),
  );
});

test("cells of XLSX without a value are told, unless a formula gives an empty text", async () => {
  const cells = '<c><v>1</v></c><c><f>B1</f><v/></c><c t="str"><f>IF(A1,"")</f><v></v></c><c t="s"><v>9</v></c>';
  expect(await xlsx(rows(`${cells}<c ph="1" t="s"><v>1</v></c>`))).toBe(
    "[S]\n1\t\t\t\t\u6771\nformula without a stored value 1 S\ndamaged cell 1 S\nreading of characters 1 S",
  );
});

test("fractions of a second that a format does not show are told, and not what sums are off by", async () => {
  const styles = {
    "xl/styles.xml":
      '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="h:mm:ss.000"/></numFmts><cellXfs><xf/><xf numFmtId="21"/><xf numFmtId="164"/></cellXfs></styleSheet>',
  };
  const half = 0.25 + 0.5 / 86_400;
  const cell = (style: number, value: number) => `<c s="${style}"><v>${value}</v></c>`;
  const cells = [cell(1, half), cell(2, half), cell(0, half), cell(1, 1 / 3), cell(1, 45_000 + 0.1 + 0.2)];
  expect(await xlsx(rows(cells.join("")), styles)).toBe(
    `[S]\n06:00:01\t06:00:00.500\t${half}\t08:00:00\t2023-03-15 07:12:00\nfraction of a second 1 S`,
  );
});

test("values of formulas that are to be calculated anew are told", async () => {
  const book = (calculation: string) => ({
    "xl/workbook.xml": `<workbook><sheets><sheet name="S" r:id="s"/></sheets>${calculation}</workbook>`,
  });
  const cells = rows("<c><v>2</v></c><c><f>A1*3</f><v>0</v></c><c><f>A1</f></c>");
  const unstored = "formula without a stored value 1 S";
  const old = "formula with an old value 1 S";
  expect(await xlsx(cells, book('<calcPr fullCalcOnLoad="1"/>'))).toBe(`[S]\n2\t0\n${old}\n${unstored}`);
  expect(await xlsx(cells, book('<calcPr calcId="1"/>'))).toBe(`[S]\n2\t0\n${unstored}`);
});

test("a cell of XLSX that no column holds, or that is there twice, is told", async () => {
  const cells = '<c r="B1"><v>2</v></c><c r="A1"><v>1</v></c><c r="B1"><v>3</v></c><c r="A1"/>';
  const far = '<c r="XFE1"><v>4</v></c><c r="AAAA1"><v>5</v></c><c t="s"><v>x</v></c>';
  expect(await xlsx(rows(cells, far))).toBe("[S]\n1\t2\ndamaged cell 4 S");
});

test.each([
  ["&amp;LPage &amp;P of &amp;N&amp;R&amp;D", false],
  ["&amp;CSeite &amp;P von &amp;N", false],
  ["第 &amp;P 页，共 &amp;N 页", false],
  ["&amp;C&amp;A - &amp;P/&amp;N", false],
  ["Confidential, page &amp;P", true],
  ["Confidential &amp;P", true],
  ["&amp;P of 2024", true],
])("a header with %s is told only if it has words of its own", async (header, isTold) => {
  const read = await xlsx(`${rows("<c><v>1</v></c>")}<headerFooter><oddHeader>${header}</oddHeader></headerFooter>`);
  expect(read).toBe(`[S]\n1${isTold ? "\nheader or footer 1 S" : ""}`);
});

test("formulas and ids beside cells are silent, and what people see is a loss", async () => {
  const silent = [
    "<conditionalFormatting><cfRule><formula>A1&gt;1</formula><extLst><ext><x14:id>{1}</x14:id></ext></extLst></cfRule></conditionalFormatting>",
    "<dataValidations><dataValidation><formula1>1</formula1><formula2>2</formula2></dataValidation></dataValidations>",
    "<extLst><ext><x14:sparkline><xm:f>S!A1</xm:f><xm:sqref>B1</xm:sqref></x14:sparkline></ext></extLst>",
    "<customSheetViews><customSheetView><headerFooter><oddHeader>Mine</oddHeader></headerFooter></customSheetView></customSheetViews>",
    '<headerFooter><oddHeader>&amp;C&amp;"Arial,Bold"&amp;12&amp;KFF0000&amp;A</oddHeader><oddFooter>&amp;CPage &amp;P</oddFooter></headerFooter>',
  ].join("");
  expect(await xlsx(`${rows("<c><v>1</v></c>")}<odd>x</odd>${silent}`)).toBe("[S]\n1\nunread element 1 odd");
  const seen = [
    '<dataValidations><dataValidation prompt="Choose"/></dataValidations><hyperlinks><hyperlink tooltip="Go"/></hyperlinks>',
    '<extLst><ext><x14:dataValidation promptTitle="Yes"/></ext></extLst>',
    "<odd>words</odd>",
    "<headerFooter><oddHeader>Secret</oddHeader><oddFooter>&amp;P</oddFooter></headerFooter>",
  ].join("");
  const strings = "<sst><si><t>a</t><other>words</other></si></sst>";
  const losses = ["unread element 2 other odd", "cell prompt 3 S", "header or footer 1 S"];
  const read = await xlsx(`${rows("<c><v>1</v></c>")}${seen}`, { "xl/sharedStrings.xml": strings });
  expect(read).toBe(["[S]", "1", ...losses].join("\n"));
});

test("boxes and controls of a sheet are told once each, and a sheet that has no cells is named", async () => {
  const box = (words: string) => `<xdr:sp><xdr:txBody><a:p><a:t>${words}</a:t></a:p></xdr:txBody></xdr:sp>`;
  const control = `<mc:AlternateContent><mc:Choice>${box("Press")}</mc:Choice><mc:Fallback/></mc:AlternateContent>`;
  const shape = (words: string) => `<v:shape><v:textbox><div>${words}</div></v:textbox></v:shape>`;
  const beside = relations(relation("d", "drawing", "box.xml"), relation("v", "vmlDrawing", "old.vml"));
  const sheets = relations(relation("s", "worksheet", "sheet.xml"), relation("c", "chartsheet", "chart.xml"));
  const read = await xlsx(rows("<c><v>1</v></c>"), {
    "xl/workbook.xml": '<workbook><sheets><sheet name="S" r:id="s"/><sheet name="C" r:id="c"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": sheets,
    "xl/_rels/sheet.xml.rels": beside,
    "xl/box.xml": `<xdr:wsDr><xdr:col>1</xdr:col>${box("one")}${box(" ")}${box("two")}${control}</xdr:wsDr>`,
    "xl/old.vml": `<xml>${shape("Press")}${shape("")}</xml>`,
    "xl/chart.xml": "<chartsheet/>",
  });
  expect(read).toBe("[S]\n1\ntext box 3 S\nsheet without cells 1 C");
});

/** The text and the losses of a spreadsheet whose body this is. */
async function ods(body: string, styles = ""): Promise<string> {
  const text = growing(1e6);
  const formats = "<office:automatic-styles><number:text>-</number:text></office:automatic-styles>";
  const content = `<office:document-content>${formats}<office:body>${body}</office:body></office:document-content>`;
  readOds(await packed({ "content.xml": content, "styles.xml": styles }), text);
  return described(text);
}

const table = (cells: string, name = "T") =>
  `<table:table table:name="${name}"><table:table-row>${cells}</table:table-row></table:table>`;
const cell = (facts: string, words = "") =>
  `<table:table-cell ${facts}>\n  ${words === "" ? "" : `<text:p>${words}</text:p>`}\n</table:table-cell>`;

test("cells of ODS have their values, and their text with its spaces, tabs and lines", async () => {
  const cells = [
    cell('office:value-type="time" office:time-value="PT36H00M00S"', "36:00"),
    cell('office:value-type="time" office:time-value="P1Y"', "long"),
    cell('office:value-type="boolean" office:boolean-value="true"', "WAHR"),
    cell('office:value-type="percentage" office:value="0.125"', "12.5%"),
    cell('office:value-type="date" office:date-value="2024-02-01T10:30:00"', "1.2."),
    cell('office:value-type="string"', 'a<text:s text:c="3"/>b<text:tab/>c<text:line-break/>d'),
    cell('office:value-type="string" office:string-value="kept"'),
    cell('office:value-type="float" office:value="0" calcext:value-type="error"', "#DIV/0!"),
    cell("", '<text:a>link</text:a> <text:span>span</text:span></text:p><text:p>second<text:s text:c="1e9"/>'),
  ];
  expect(await ods(table(cells.join("")))).toBe(
    `[T]\n36:00:00\tP1Y\tWAHR\t0.125\t2024-02-01 10:30:00\ta   b\\tc\\nd\tkept\t#DIV/0!\tlink span\\nsecond${" ".repeat(100)}`.trimEnd(),
  );
});

test("what stands in cells of ODS beside their values is a loss and no part of them", async () => {
  const comment = "<office:annotation><dc:creator>Ann</dc:creator><text:p>a note</text:p></office:annotation>";
  const box = "<draw:g><svg:desc>d</svg:desc><draw:custom-shape><text:p>boxed</text:p></draw:custom-shape></draw:g>";
  const image = "<draw:frame><draw:image/><svg:title>A picture</svg:title></draw:frame>";
  const read = await ods(
    [
      "<table:tracked-changes><table:deletion><office:change-info><dc:creator>Bo</dc:creator></office:change-info></table:deletion>",
      "<table:cell-content-change><office:change-info><dc:date>2024</dc:date></office:change-info>",
      "<table:previous><table:change-track-table-cell><text:p>old</text:p></table:change-track-table-cell></table:previous>",
      "</table:cell-content-change></table:tracked-changes>",
      "<table:content-validations><table:help-message><text:p>Choose</text:p></table:help-message>",
      "<table:error-message><text:p>No</text:p></table:error-message></table:content-validations>",
      table(
        `<table:table-cell>${comment}<text:p>A<text:ruby><text:ruby-base>\u6771</text:ruby-base><text:ruby-text>to</text:ruby-text></text:ruby></text:p>${box}${image}</table:table-cell>
         <table:covered-table-cell table:number-columns-repeated="1.5"><text:p>covered</text:p></table:covered-table-cell>${cell('table:formula="of:=1"')}${cell("", "end")}`,
      ),
      table(cell("", "cached"), "'file:///a.ods'#$Sheet1"),
      `<table:dde-links>${table(cell("", "linked"), "")}</table:dde-links><odd:thing>words</odd:thing>`,
    ].join(""),
  );
  expect(read.split("\n")).toEqual([
    ...["[T]", "A\u6771\t\t\tend"],
    ...["deleted by a tracked change 2", "cell prompt 1", "comment 1 T", "reading of characters 1 T", "text box 1 T"],
    ...["formula without a stored value 1 T", "unread element 1 odd:thing"],
  ]);
});

test.each([
  [
    "<text:p><text:sheet-name>???</text:sheet-name></text:p><text:p>Page <text:page-number>1</text:page-number></text:p>",
    "",
  ],
  ["<text:p><text:date>2024</text:date>, <text:time>1</text:time></text:p>", ""],
  ["<text:p>Seite <text:page-number>1</text:page-number> von <text:page-count>9</text:page-count></text:p>", ""],
  ["<text:p>Confidential</text:p>", "\nheader or footer 1"],
  ["<text:p>Confidential, page <text:page-number>3</text:page-number></text:p>", "\nheader or footer 1"],
])("headers of ODS are told if they say more than programs write by themselves: %s", async (header, told) => {
  const styles = `<office:styles><number:text>-</number:text></office:styles><style:header>${header}</style:header>`;
  expect(await ods(table(cell("", "x")), styles)).toBe(`[T]\nx${told}`);
});
