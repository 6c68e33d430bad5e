import { zip } from "../../packed.ts";

// Workbooks with formats that writers of others do not offer.

const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/** One number under many formats, a row each: the format behind the value. */
const FORMATS: readonly (readonly [format: string, value: string])[] = [
  ["[h]:mm", "1.5"],
  ["[mm]:ss", "0.03125"],
  ["[ss]", "0.001"],
  ['"days" 0.00', "45292.5"],
  ["#,##0\\d", "1200"],
  ["[Red]0.00E+00", "1234.5"],
  ["[$-407]dd. mmmm yyyy", "45292"],
  ["[$€-407] #,##0.00", "99.5"],
  ["ggge", "45292"],
  ["General", "45292"],
  ["yyyy-mm-dd hh:mm:ss", "45292.9999999"],
  ["0.00%", "0.125"],
  ["h:mm AM/PM", "0.75"],
  ["# ?/?", "0.5"],
];

function formats(): Buffer {
  const escaped = (said: string) => said.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  const text = (at: string, said: string) => `<c r="${at}" t="inlineStr"><is><t>${escaped(said)}</t></is></c>`;
  const rows = FORMATS.map(
    ([format, value], at) =>
      `<row r="${at + 1}"><c r="A${at + 1}" s="${at + 1}"><v>${value}</v></c>${text(`B${at + 1}`, format)}</row>`,
  );
  const builtIn = [27, 30, 46, 57].map((_, at) => {
    const row = FORMATS.length + at + 1;
    return `<row r="${row}"><c r="A${row}" s="${row}"><v>45292.25</v></c>${text(`B${row}`, `built-in ${[27, 30, 46, 57][at]}`)}</row>`;
  });
  const raised = (said: string, place: string) => `<r><rPr><vertAlign val="${place}"/></rPr><t>${said}</t></r>`;
  const runs = `<r><t>10</t></r>${raised("6", "superscript")}<r><t xml:space="preserve"> of CO</t></r>${raised("2", "subscript")}`;
  const rich = `<row r="41"><c r="A41" t="inlineStr"><is>${runs}</is></c><c r="B41" t="s"><v>0</v></c></row>`;
  const odd = `<row r="40"><c r="A40" t="d"><v>2024-02-29</v></c><c r="C40" t="str"><f>"a"</f><v>a_x005F_x000D_b</v></c><c r="E40" t="e"><v>#REF!</v></c></row>`;
  const numFmts = FORMATS.map(([format], at) => `<numFmt numFmtId="${200 + at}" formatCode="${escaped(format)}"/>`);
  const xfs = [0, ...FORMATS.map((_, at) => 200 + at), 27, 30, 46, 57].map((id) => `<xf numFmtId="${id}"/>`);
  return book({
    "xl/styles.xml": `<styleSheet xmlns="${MAIN}"><numFmts>${numFmts.join("")}</numFmts><cellXfs>${xfs.join("")}</cellXfs><dxfs><dxf><numFmt numFmtId="200" formatCode="yyyy"/></dxf></dxfs></styleSheet>`,
    "xl/sharedStrings.xml": `<sst xmlns="${MAIN}"><si><r><t>4,217</t></r>${raised("1", "superscript")}</si></sst>`,
    "xl/worksheets/sheet1.xml": `<worksheet xmlns="${MAIN}"><sheetData>${rows.join("")}${builtIn.join("")}${odd}${rich}</sheetData></worksheet>`,
  });
}

function book(parts: Readonly<Record<string, string>>): Buffer {
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;
  const relations = (inner: string) =>
    `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${inner}</Relationships>`;
  return zip([
    {
      name: "[Content_Types].xml",
      data: '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
    },
    { name: "_rels/.rels", data: relations(relation("r1", "officeDocument", "xl/workbook.xml")) },
    {
      name: "xl/workbook.xml",
      data: `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets><sheet name="Formats" sheetId="1" r:id="r1"/></sheets></workbook>`,
    },
    {
      name: "xl/_rels/workbook.xml.rels",
      data: relations(
        relation("r1", "worksheet", "worksheets/sheet1.xml") +
          relation("r2", "styles", "styles.xml") +
          relation("r3", "sharedStrings", "sharedStrings.xml"),
      ),
    },
    ...Object.entries(parts).map(([name, data]) => ({ name, data })),
  ]);
}

export const SHEETS: Readonly<Record<string, () => Buffer>> = { "formats.xlsx": formats };
