import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pdf, pdfOf, streamOf, zip } from "./packed.ts";

// Small documents of every kind. No office suite is needed at test time.

const TYPES = { name: "[Content_Types].xml", data: "<Types/>" };
const RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

function relations(targets: Readonly<Record<string, readonly [type: string, target: string]>>): string {
  const all = Object.entries(targets).map(
    ([id, [type, target]]) => `<Relationship Id="${id}" Type="${RELATION}/${type}" Target="${target}"/>`,
  );
  return `<Relationships>${all.join("")}<Relationship Id="x" Type="${RELATION}/attachedTemplate" Target="file:///etc/passwd" TargetMode="External"/></Relationships>`;
}

const run = (text: string) => `<w:r><w:t xml:space="preserve">${text}</w:t></w:r>`;
const paragraph = (text: string, properties = "") => `<w:p><w:pPr>${properties}</w:pPr>${text}</w:p>`;
const cellOf = (text: string) => `<w:tc>${paragraph(run(text))}</w:tc>`;

function docx(): Buffer {
  const box = `<w:r><w:txbxContent>${paragraph(run("in a box"))}</w:txbxContent></w:r>`;
  const body = [
    paragraph(run("The plan"), '<w:pStyle w:val="H1"/>'),
    paragraph(`${run("Before,")}${box}${run(" and after.")}<w:moveFrom>${run("moved")}</w:moveFrom>`),
    paragraph(`${run("First ")}${run("words &amp; more")}<w:r><w:footnoteReference w:id="2"/></w:r>`),
    paragraph(run("one"), "<w:numPr/>"),
    paragraph(run("two"), "<w:numPr/>"),
    `<w:tbl><w:tr>${cellOf("a")}${cellOf("b")}</w:tr><w:tr>${cellOf("1")}${cellOf("2")}</w:tr></w:tbl>`,
    paragraph(
      `${run("kept ")}<w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:commentReference w:id="0"/></w:r>`,
    ),
  ];
  return zip([
    TYPES,
    { name: "word/document.xml", data: `<w:document><w:body>${body.join("")}</w:body></w:document>` },
    {
      name: "word/styles.xml",
      data: '<w:styles><w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style></w:styles>',
    },
    {
      name: "word/_rels/document.xml.rels",
      data: relations({
        a: ["footnotes", "footnotes.xml"],
        b: ["comments", "comments.xml"],
        c: ["header", "header1.xml"],
      }),
    },
    {
      name: "word/footnotes.xml",
      data: `<w:footnotes><w:footnote w:id="0" w:type="separator">${paragraph(run("-"))}</w:footnote><w:footnote w:id="2">${paragraph(run("A note."))}</w:footnote></w:footnotes>`,
    },
    {
      name: "word/comments.xml",
      data: `<w:comments><w:comment w:id="0">${paragraph(run("Is it?"))}</w:comment></w:comments>`,
    },
    { name: "word/header1.xml", data: `<w:hdr>${paragraph(run("Head"))}</w:hdr>` },
    { name: "word/media/image1.png", data: "png" },
    { name: "word/vbaProject.bin", data: "vba" },
  ]);
}

function pptx(): Buffer {
  const say = (text: string) => `<a:p><a:r><a:t>${text}</a:t></a:r></a:p>`;
  const slide = (inner: string) => `<p:sld><p:cSld><p:spTree>${inner}</p:spTree></p:cSld></p:sld>`;
  const cell = (text: string) => `<a:tc><a:txBody>${say(text)}</a:txBody></a:tc>`;
  return zip([
    TYPES,
    {
      name: "ppt/presentation.xml",
      data: '<p:presentation><p:sldIdLst><p:sldId r:id="s2"/><p:sldId r:id="s1"/></p:sldIdLst></p:presentation>',
    },
    {
      name: "ppt/_rels/presentation.xml.rels",
      data: relations({ s1: ["slide", "slides/slide1.xml"], s2: ["slide", "slides/slide2.xml"] }),
    },
    { name: "ppt/slides/slide1.xml", data: slide('<p:pic/><a:p><a:fld type="slidenum"><a:t>2</a:t></a:fld></a:p>') },
    {
      name: "ppt/slides/slide2.xml",
      data: slide(`${say("Welcome")}<a:tbl><a:tr>${cell("x")}${cell("y")}</a:tr></a:tbl>`),
    },
    {
      name: "ppt/slides/_rels/slide2.xml.rels",
      data: relations({ n: ["notesSlide", "../notesSlides/notesSlide1.xml"] }),
    },
    { name: "ppt/notesSlides/notesSlide1.xml", data: slide(say("Say hello")) },
    { name: "ppt/media/image1.png", data: "png" },
    { name: "ppt/charts/chart1.xml", data: "<c:chart/>" },
    { name: "ppt/diagrams/data1.xml", data: "<dgm:dataModel/>" },
    { name: "ppt/comments/comment1.xml", data: "<p:cmLst/>" },
  ]);
}

function xlsx(): Buffer {
  const cell = (at: string, value: string, more = "") => `<c r="${at}"${more}><v>${value}</v></c>`;
  const rows = [
    `<row r="2">${cell("A2", "0", ' t="s"')}${cell("B2", "1", ' t="s"')}</row>`,
    `<row r="3">${cell("A3", "45292", ' s="1"')}${cell("C3", "2.5")}</row>`,
    `<row r="6">${cell("A6", "1", ' t="b"')}<c r="B6"><f>A1+1</f></c></row>`,
    `<row r="1000"><c r="B1000" t="inlineStr"><is><t>far</t></is></c></row>`,
  ];
  return zip([
    TYPES,
    {
      name: "xl/workbook.xml",
      data: '<workbook><sheets><sheet name="Sales" r:id="r1"/><sheet name="Empty" r:id="r2"/></sheets></workbook>',
    },
    {
      name: "xl/_rels/workbook.xml.rels",
      data: relations({
        r1: ["worksheet", "worksheets/sheet1.xml"],
        r2: ["worksheet", "/xl/worksheets/sheet2.xml"],
        r3: ["sharedStrings", "sharedStrings.xml"],
      }),
    },
    {
      name: "xl/sharedStrings.xml",
      data: "<sst><si><t>day</t></si><si><r><t>tab\there</t></r><r><t> \\ end</t></r><rPh><t>no</t></rPh></si></sst>",
    },
    {
      name: "xl/styles.xml",
      data: '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
    },
    { name: "xl/worksheets/sheet1.xml", data: `<worksheet><sheetData>${rows.join("")}</sheetData></worksheet>` },
    { name: "xl/drawings/drawing1.xml", data: "<xdr:wsDr><a:t>boxed</a:t></xdr:wsDr>" },
    { name: "xl/worksheets/sheet2.xml", data: "<worksheet><sheetData/></worksheet>" },
  ]);
}

const mimetype = (of: string) => ({ name: "mimetype", data: `application/vnd.oasis.opendocument.${of}` });
const content = (body: string) => ({
  name: "content.xml",
  data: `<office:document-content><office:body>${body}</office:body></office:document-content>`,
});

function odt(): Buffer {
  const cell = (text: string) => `<table:table-cell><text:p>${text}</text:p></table:table-cell>`;
  return zip([
    mimetype("text"),
    content(
      [
        "<office:text><text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>",
        '<text:h text:outline-level="2">A title</text:h>',
        '<text:p>Some<text:s text:c="2"/>words<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>The note</text:p></text:note-body></text:note>, on<office:annotation><dc:creator>Jane</dc:creator><dc:date>2026-01-01</dc:date><text:p>Is it?</text:p></office:annotation>.</text:p>',
        "<text:list><text:list-item><text:p>item</text:p></text:list-item></text:list>",
        `<table:table><table:table-row>${cell("a")}${cell("b")}</table:table-row></table:table></office:text>`,
      ].join(""),
    ),
    { name: "Pictures/a.png", data: "png" },
    { name: "styles.xml", data: "<office:styles><style:header><text:p>Head</text:p></style:header></office:styles>" },
  ]);
}

function odp(): Buffer {
  return zip([
    mimetype("presentation"),
    content(
      "<draw:page><draw:frame><text:p>One</text:p></draw:frame></draw:page><draw:page/><draw:page><text:p>Two</text:p></draw:page>",
    ),
  ]);
}

function ods(): Buffer {
  const cell = (text: string, more = "") => `<table:table-cell${more}><text:p>${text}</text:p></table:table-cell>`;
  const empty = '<table:table-cell table:number-columns-repeated="16382"/>';
  return zip([
    mimetype("spreadsheet"),
    content(
      [
        '<table:table table:name="Kosten">',
        `<table:table-row table:number-rows-repeated="2">${empty}</table:table-row>`,
        `<table:table-row>${cell("01.02.24", ' office:value-type="date" office:date-value="2024-02-01"')}${cell("1,50 €", ' office:value-type="currency" office:value="1.5"')}${empty}</table:table-row>`,
        `<table:table-row table:number-rows-repeated="2">${cell("twice", ' table:number-columns-repeated="2"')}</table:table-row>`,
        `<table:table-row table:number-rows-repeated="1048570">${empty}</table:table-row></table:table>`,
      ].join(""),
    ),
  ]);
}

function epub(): Buffer {
  return zip([
    { name: "mimetype", data: "application/epub+zip" },
    {
      name: "META-INF/container.xml",
      data: '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
    },
    {
      name: "OEBPS/book.opf",
      data: '<package><manifest><item id="a" href="b%20two.xhtml"/><item id="b" href="one.xhtml"/></manifest><spine><itemref idref="b"/><itemref idref="a"/><itemref idref="gone"/></spine></package>',
    },
    {
      name: "OEBPS/one.xhtml",
      data: "<html><head><title>Book</title></head><body><h2>One</h2><p>Begin.</p></body></html>",
    },
    { name: "OEBPS/b two.xhtml", data: "<html><body><p>End.</p></body></html>" },
  ]);
}

export const html = () =>
  Buffer.from(
    '<!doctype html><html><head><meta charset="iso-8859-1"><title>Caf\xe9</title><style>p{}</style><script>var no = 1;</script></head><body><h1>Big</h1>\n<p>Some <b>bold</b>\n words &amp; more.<br>Next</p><ul><li><p> a</p></li><li>b<ol><li>c</li></ol></li></ul><table><tr><th>x</th><th>y</th></tr><tr><td>1</td><td><p>2</p></td></tr></table><pre>  keep\n   this</pre><img src="http://example.com/a.png" alt="A cat"></body></html>',
    "latin1",
  );

const ipynb = () =>
  Buffer.from(
    JSON.stringify({
      nbformat: 4,
      cells: [
        { cell_type: "markdown", source: ["# Title\n", "text"] },
        {
          cell_type: "code",
          source: "1 + 1",
          outputs: [{ output_type: "execute_result", data: { "text/plain": ["2"], "image/png": "AAAA" } }],
        },
        {
          cell_type: "code",
          source: "boom()",
          outputs: [
            { output_type: "stream", text: "working\n" },
            { output_type: "error", ename: "Error", evalue: "no" },
          ],
        },
      ],
    }),
  );

const LETTER = [
  "From: =?utf-8?q?J=C3=BCrg?= <j@example.com>",
  "To: a@example.com, B <b@example.com>",
  "Subject: [body] of it",
  "Date: Tue, 24 Nov 2026 10:00:00 +0000",
  'Content-Type: multipart/mixed; boundary="x"',
  "",
  "--x",
  "Content-Type: text/plain; charset=utf-8",
  "",
  "Dear all,",
  "[p.99] is not a page.",
  "--x",
  "Content-Type: application/pdf; name=a.pdf",
  "Content-Disposition: attachment; filename=a.pdf",
  "",
  "JVBERi0=",
  "--x--",
  "",
].join("\r\n");

const eml = () => Buffer.from(LETTER);

const mbox = () =>
  Buffer.from(
    `From j@example.com Tue Nov 24 10:00:00 2026\r\n${LETTER}\r\nFrom k@example.com Tue Nov 24 11:00:00 2026\r\nFrom: k@example.com\r\nContent-Type: text/html\r\n\r\n<p>Only <i>HTML</i></p>\r\n`,
  );

function sqlite(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), "belay-test-"));
  const path = join(folder, "a.db");
  const database = new DatabaseSync(path);
  database.exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, what TEXT, picture BLOB)");
  database.exec("INSERT INTO orders VALUES (9007199254740993, 'a\tb\nc', NULL), (2, 'd', x'0102')");
  database.exec("CREATE VIEW v AS SELECT 1; CREATE VIRTUAL TABLE words USING fts5(word)");
  database.close();
  const bytes = readFileSync(path);
  rmSync(folder, { recursive: true });
  return bytes;
}

/** A message of Outlook with recipients and attachments, written by the package cfb. */
const msg = () => readFileSync(new URL("corpus/files/memo.msg", import.meta.url));

/** Two rows of two columns, written by hyparquet-writer. */
const parquet = () => Buffer.from(PARQUET, "base64");
const PARQUET =
  "UEFSMRUGFTgVPFwVBBUAFQQVABUEFQAAAAMDGmQEAAAAQmVybg4AAABLw7ZsbglhbSBSaGVpbhUGFSQVKFwVBBUAFQQVABUEFQAAAAMDEDxwCwIAAAAAABiWEAAAAAAAFQQZPEgEcm9vdBUEABUMJQIYBGNpdHklAAAVBCUCGAZwZW9wbGUAFgQZHBksJggcFQwZFQAZGARjaXR5FQIWBBZiFmYmCDw2ACgOS8O2bG4JYW0gUmhlaW4YBEJlcm4AGRwVBhUAFQIAAAAmbhwVBBkVABkYBnBlb3BsZRUCFgQWThZSJm48NgAoCBiWEAAAAAAAGAhwCwIAAAAAAAAZHBUGFQAVAgAAABawARYENrgBACgJaHlwYXJxdWV0GSwcAAAcAAAAxgAAAFBBUjE=";

/** A PDF with a field of a form and an attached file. */
function form(): Buffer {
  return pdfOf([
    "<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[6 0 R]>>/Names<</EmbeddedFiles<</Names[(a.txt) 7 0 R]>>>>>>",
    "<</Type/Pages/Kids[4 0 R]/Count 1>>",
    "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 5 0 R/Annots[6 0 R]/Resources<</Font<</F 3 0 R>>>>>>",
    streamOf("BT /F 12 Tf (City:) Tj ET"),
    "<</Type/Annot/Subtype/Widget/FT/Tx/T(city)/V(Bern)/Rect[0 0 9 9]/P 4 0 R>>",
    "<</Type/Filespec/F(a.txt)/EF<</F 8 0 R>>>>",
    streamOf("attached", "/Type/EmbeddedFile"),
  ]);
}

export const scan = () => pdf([], []);

/** All kinds, by file name. */
export const ORIGINALS: Readonly<Record<string, () => Buffer>> = {
  "report.pdf": () => pdf(["Annual report", "Profit (net) rose."], [], ["[p.1] is quoted here"]),
  "form.pdf": form,
  ...{ "plan.docx": docx, "talk.pptx": pptx, "sales.xlsx": xlsx, "text.odt": odt, "talk.odp": odp, "cost.ods": ods },
  ...{ "book.epub": epub, "page.html": html, "note.ipynb": ipynb, "letter.eml": eml, "box.mbox": mbox },
  ...{ "shop.db": sqlite, "cities.parquet": parquet, "memo.msg": msg },
};
