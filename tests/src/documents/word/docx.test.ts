import { expect, test } from "vitest";
import { openParts } from "../../../../src/documents/archives.ts";
import { growing } from "../../../../src/documents/growing.ts";
import { readDocx } from "../../../../src/documents/word/docx.ts";
import { zip } from "../packed.ts";

interface Parts {
  readonly [name: string]: string;
}

/** The text of a document with this body, and its losses with their counts. */
async function read(body: string, parts: Parts = {}): Promise<string> {
  const related = Object.keys(parts).map((name) => {
    const type = name.replace(/\d?\..*/, "");
    return `<Relationship Id="${type}" Type="x/${type}" Target="${name}"/>`;
  });
  const files = {
    "document.xml": `<w:document><w:body>${body}</w:body></w:document>`,
    "_rels/document.xml.rels": `<Relationships>${related.join("")}</Relationships>`,
    ...parts,
  };
  const members = Object.entries(files).map(([name, data]) => ({ name: `word/${name}`.replace("word/../", ""), data }));
  const text = growing(1_000_000);
  readDocx(await openParts(zip(members), text.lose), text);
  const { text: said, lost } = text.end();
  return [said.trim(), ...lost.map(({ kind, count }) => `-- ${count} ${kind}`)].join("\n");
}

const run = (words: string, look = "") => `<w:r><w:rPr>${look}</w:rPr><w:t>${words}</w:t></w:r>`;
const paragraph = (content: string, about = "") =>
  `<w:p><w:pPr>${about}</w:pPr>${content.startsWith("<") ? content : run(content)}</w:p>`;
const item = (content: string, list: number, level = 0, more = "") => {
  const number = `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="${list}"/></w:numPr>`;
  return paragraph(content, number + more);
};
const styled = (content: string, style: string, more = "") => paragraph(content, `<w:pStyle w:val="${style}"/>${more}`);
const HIDES = "<w:rPr><w:vanish/></w:rPr>";
const SHOWS = '<w:rPr><w:vanish w:val="0"/></w:rPr>';
const styleOf = (id: string, look = "", more = "") =>
  `<w:style w:type="paragraph" w:styleId="${id}" ${more}>${look}</w:style>`;
const deleted = "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>";
const endDeleted = "<w:rPr><w:del/></w:rPr>";

const level = (at: number, format: string, label: string, more = "") =>
  `<w:lvl w:ilvl="${at}"><w:start w:val="1"/><w:numFmt w:val="${format}"/>${more}<w:lvlText w:val="${label}"/></w:lvl>`;
const definition = (id: number, ...levels: string[]) =>
  `<w:abstractNum w:abstractNumId="${id}">${levels.join("")}</w:abstractNum>`;
const list = (id: number, of: number, more = "") =>
  `<w:num w:numId="${id}"><w:abstractNumId w:val="${of}"/>${more}</w:num>`;
const numbering = (...parts: string[]) => ({ "numbering.xml": `<w:numbering>${parts.join("")}</w:numbering>` });
const style = (id: string, name: string, more: string) =>
  `<w:style w:styleId="${id}"><w:name w:val="${name}"/>${more}</w:style>`;
const inList = (number: string) => `<w:pPr><w:numPr>${number}</w:numPr></w:pPr>`;

const CLAUSES = definition(
  0,
  level(0, "decimal", "%1."),
  level(1, "decimal", "%1.%2"),
  level(2, "lowerLetter", "(%3)"),
);
const DECIMAL = numbering(definition(0, level(0, "decimal", "%1.")), list(1, 0));

/** Documents, and what people read in them. */
const CASES: Readonly<Record<string, readonly [body: string, parts: Parts, text: string]>> = {
  "clauses have their numbers, and deeper ones begin again": [
    [0, 1, 2, 2, 1, 0, 1].map((at) => item("x", 1, at)).join(""),
    numbering(CLAUSES, list(1, 0)),
    "1. x\n  1.1 x\n    (a) x\n    (b) x\n  1.2 x\n2. x\n  2.1 x",
  ],
  "lists of one definition count on, and begin anew once if they say so": [
    [1, 1, 2, 3, 3, 1, 0].map((id) => item("x", id)).join(""),
    numbering(
      CLAUSES,
      list(1, 0),
      list(2, 0),
      list(3, 0, '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride>'),
    ),
    "1. x\n2. x\n3. x\n5. x\n6. x\n7. x\n\nx",
  ],
  "headings have the numbers of their styles, which styles on them inherit": [
    `${styled("A", "H1")}${styled("B", "H2")}${styled("C", "Own")}${styled("D", "H1")}${styled("E", "H2")}`,
    {
      ...numbering(
        definition(
          0,
          level(0, "upperRoman", "Article %1.", '<w:pStyle w:val="H1"/>'),
          level(1, "decimalZero", "Section %1.%2", '<w:pStyle w:val="H2"/><w:isLgl/>'),
        ),
        list(1, 0),
      ),
      "styles.xml": `<w:styles>${[
        style("H1", "heading 1", inList('<w:numId w:val="1"/>')),
        style("H2", "heading 2", inList('<w:numId w:val="1"/>')),
        style("Own", "Own", '<w:basedOn w:val="H2"/>'),
      ].join("")}</w:styles>`,
    },
    "# Article I. A\n\n## Section 1.01 B\n\n## Section 1.02 C\n\n# Article II. D\n\n## Section 2.01 E",
  ],
  "a style says another level of the list of the style above it, and 0 is no list": [
    `${styled("A", "Up")}${styled("B", "Down")}${styled("C", "Up", '<w:numPr><w:numId w:val="0"/></w:numPr>')}`,
    {
      ...numbering(CLAUSES, list(1, 0)),
      "styles.xml": `<w:styles>${style("Up", "Up", inList('<w:numId w:val="1"/>'))}${style("Down", "Down", `<w:basedOn w:val="Up"/>${inList('<w:ilvl w:val="1"/>')}`)}</w:styles>`,
    },
    "1. A\n  1.1 B\n\nC",
  ],
  "levels of a list style are found by its name": [
    item("x", 1) + item("y", 1),
    numbering(
      definition(0, '<w:numStyleLink w:val="L"/>'),
      definition(1, '<w:styleLink w:val="L"/>', level(0, "upperLetter", "%1)")),
      list(1, 0),
    ),
    "A) x\nB) y",
  ],
  "lists whose definitions lead to one style count on from each other": [
    item("x", 1) + item("y", 2) + item("z", 1),
    numbering(
      definition(0, '<w:numStyleLink w:val="L"/>'),
      definition(1, '<w:styleLink w:val="L"/>', level(0, "decimal", "%1.")),
      list(1, 0),
      list(2, 1),
    ),
    "1. x\n2. y\n3. z",
  ],
  "an equation or button that is the code of a field is told": [
    ["EQ \\f(1,2)", "MACROBUTTON NoMacro Click", "PAGE"]
      .map((code) => `<w:p>${run("x")}<w:r><w:instrText> ${code} </w:instrText></w:r></w:p>`)
      .join(""),
    {},
    "x\n\nx\n\nx\n-- 1 equation\n-- 1 form field",
  ],
  "bullets, numbers that are hidden, blank signs, and forms that become decimal": [
    [0, 1, 2, 3].map((at) => item("x", 1, at)).join(""),
    numbering(
      definition(
        0,
        level(0, "bullet", "\uf0b7"),
        level(1, "none", ""),
        level(2, "bullet", " "),
        level(3, "ordinal", "%4"),
      ),
      list(1, 0),
    ),
    "- x\n\nx\n\nx\n      1 x\n-- 1 list number",
  ],
  "what a change has deleted has no number, and its paragraph goes on": [
    [
      item("a", 1),
      item(deleted, 1, 0, endDeleted),
      item(run("b "), 1, 0, endDeleted),
      item("c", 1, 0, '<w:pPrChange><w:pPr><w:numPr><w:numId w:val="0"/></w:numPr></w:pPr></w:pPrChange>'),
      item("", 1),
      `<w:tbl><w:tr><w:trPr><w:del/></w:trPr><w:tc>${paragraph(deleted)}</w:tc></w:tr></w:tbl>`,
    ].join(""),
    DECIMAL,
    "1. a\n2. b c\n3.\n-- 2 deleted by a tracked change",
  ],
  "a box counts by itself, and stands there once": [
    item("a", 1) +
      `<w:p>${run("host")}<w:r><mc:AlternateContent>${["Choice", "Fallback"]
        .map((one) => `<mc:${one}><w:txbxContent>${item("in", 1)}</w:txbxContent></mc:${one}>`)
        .join("")}</mc:AlternateContent></w:r>${run("on")}</w:p>${item("b", 1)}`,
    DECIMAL,
    "1. a\n\nhost 1. in on\n2. b",
  ],
  "a sign of newer programs is read, and what only older ones have is told": [
    `<w:p>${run("so ")}<w:r><mc:AlternateContent><mc:Choice><w16se:symEx w16se:char="1F60A"/></mc:Choice><mc:Fallback><w:t>:)</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p><w:p><w:r><mc:AlternateContent><mc:Choice><odd/></mc:Choice><mc:Fallback><w:t>old</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p>`,
    {},
    "so 😊\n-- 1 unread element",
  ],
  "notes are numbered in the order of their marks, but for those with signs of their own": [
    [
      `${run("a")}<w:r><w:footnoteReference w:id="7"/></w:r>`,
      `${run("b")}<w:r><w:footnoteReference w:id="5" w:customMarkFollows="1"/><w:t>*</w:t></w:r>`,
      `${run("c")}<w:r><w:footnoteReference w:id="3"/></w:r>`,
    ]
      .map((content) => paragraph(content))
      .join(""),
    {
      ...DECIMAL,
      "footnotes.xml":
        `<w:footnotes><w:footnote w:id="0" w:type="separator">${paragraph("-")}</w:footnote><w:footnote w:id="3">${paragraph("three")}${item("i", 1)}${item("ii", 1)}</w:footnote><w:footnote w:id="5">${paragraph("five")}</w:footnote><w:footnote w:id="7">${paragraph("seven<tab/>")}</w:footnote></w:footnotes>`.replace(
          "<tab/></w:t>",
          "</w:t><w:tab/><w:t>x</w:t>",
        ),
    },
    "a[^1]\n\nb[^*1]*\n\nc[^2]\n\n[footnotes]\n[^1] seven\tx\n[^*1] five\n[^2] three 1. i 2. ii",
  ],
  "an element that nobody knows is told in notes too": [
    paragraph("a"),
    {
      "footnotes.xml": `<w:footnotes><w:footnote w:id="1">${paragraph("b")}<odd>words</odd></w:footnote></w:footnotes>`,
    },
    "a\n\n[footnotes]\n[^1] b\n-- 1 unread element",
  ],
  "the nth cell is the nth column, in rows of content controls too": [
    `<w:tbl>${[
      ["<w:tcPr/>a", '<w:tcPr><w:gridSpan w:val="2"/></w:tcPr>b', "<w:tcPr/>c"],
      ["<w:tcPr/>d", "<w:tcPr/>e", "<w:tcPr/>f"],
    ]
      .map((cells, at) => {
        const said = cells.map((cell) => `<w:tc>${cell.replace(/\w$/, (words) => paragraph(words))}</w:tc>`).join("");
        const row = `<w:tr>${at > 0 ? '<w:trPr><w:gridBefore w:val="1"/></w:trPr>' : ""}${said}</w:tr>`;
        return at > 0 ? `<w:sdt><w:sdtContent>${row}</w:sdtContent></w:sdt>` : row;
      })
      .join("")}</w:tbl>`,
    {},
    "a | b |  | c\n | d | e | f",
  ],
  "words are raised by runs, by styles and by their position": [
    paragraph(
      [
        ["10", ""],
        ["6", '<w:vertAlign w:val="superscript"/>'],
        [" x", ""],
        ["2", '<w:rStyle w:val="Up"/>'],
        [" y", ""],
        ["3", '<w:position w:val="6"/>'],
        [" z", ""],
        ["4", '<w:rStyle w:val="Up"/><w:vertAlign w:val="baseline"/>'],
        [" 1", ""],
        ["st", '<w:vertAlign w:val="superscript"/>'],
      ]
        .map(([words = "", look]) => run(words, look))
        .join(""),
      '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>',
    ),
    {
      "styles.xml": `<w:styles>${style("Base", "B", '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>')}${style("Up", "U", '<w:basedOn w:val="Base"/>')}</w:styles>`,
    },
    "10^6 x^2 y^3 z4 1st",
  ],
  "signs of fonts of symbols": [
    paragraph(
      `${run("x", '<w:rFonts w:ascii="Symbol"/>')}<m:oMath><m:r><m:t>a </m:t></m:r></m:oMath><w:r><w:sym w:font="Wingdings" w:char="F0FE"/></w:r>${run(" \uf0a8", '<w:rFonts w:ascii="Wingdings"/>')}${run(" a", '<w:rFonts w:ascii="Symbol"/>')}${run(" \uf0fe", '<w:rFonts w:ascii="Corp"/>')}`,
    ),
    {},
    "ξa 🗹 🞎 α [Corp F0FE]\n-- 1 character without a meaning",
  ],
  "tabs, line breaks, hyphens, hidden words and readings of characters": [
    paragraph(
      `<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:cr/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t><w:softHyphen/><w:t>e</w:t></w:r>${run("f", "<w:vanish/>")}<w:r><w:ruby><w:rt>${run("to")}</w:rt><w:rubyBase>${run("東")}</w:rubyBase></w:ruby></w:r>`,
      '<w:tabs><w:tab w:pos="1"/></w:tabs>',
    ),
    {},
    "a\tb\nc-de東\n-- 1 hidden text\n-- 1 reading of characters",
  ],
  "words that the defaults of the document hide": [
    paragraph("gone") + paragraph(run("seen", '<w:vanish w:val="0"/>')) + styled("shown", "S") + styled("gone", "T"),
    {
      "styles.xml": `<w:styles><w:docDefaults>${HIDES}</w:docDefaults>${styleOf("S", SHOWS)}${styleOf("T")}</w:styles>`,
    },
    "seen\n\nshown\n-- 2 hidden text",
  ],
  "words that the style of plain paragraphs hides": [
    paragraph("gone") + styled("based", "B") + styled("seen", "S") + paragraph(run("back", '<w:vanish w:val="0"/>')),
    {
      "styles.xml": `<w:styles>${styleOf("N", HIDES, 'w:default="1"')}${styleOf("S")}${styleOf("B", '<w:basedOn w:val="N"/>')}</w:styles>`,
    },
    "seen\n\nback\n-- 2 hidden text",
  ],
  "fields show their results, boxes their sign and lists their choice": [
    paragraph(
      [
        ['<w:fldChar w:fldCharType="begin"/>', "<w:instrText>IF</w:instrText>", "<w:t>argument</w:t>"],
        ['<w:fldChar w:fldCharType="separate"/>', "<w:t>shown</w:t>", '<w:fldChar w:fldCharType="end"/>'],
        [
          '<w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox></w:ffData></w:fldChar>',
          '<w:fldChar w:fldCharType="end"/>',
        ],
        [
          '<w:fldChar w:fldCharType="begin"><w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="red"/><w:listEntry w:val="blue"/></w:ddList></w:ffData></w:fldChar>',
          '<w:fldChar w:fldCharType="end"/>',
        ],
      ]
        .flat()
        .map((part) => `<w:r>${part}</w:r>`)
        .join(""),
    ),
    {},
    "shown☒blue\n-- 1 hidden text",
  ],
  "a field without an end hides nothing behind its paragraph": [
    paragraph('<w:r><w:fldChar w:fldCharType="begin"/></w:r>') + paragraph("seen"),
    {},
    "seen",
  ],
  "HTML is read where it is embedded, and other documents are told": [
    `${paragraph("before")}<w:altChunk r:id="aFChunk"/>${paragraph("after")}<w:altChunk r:id="mhtChunk"/>`,
    { "aFChunk.html": "<p>between", "mhtChunk.mht": "x" },
    "before\n\nbetween\n\nafter\n-- 1 embedded document",
  ],
  "an empty item has its number in a table, and a task its box": [
    `<w:tbl><w:tr><w:tc>${item("", 1)}</w:tc><w:tc>${paragraph("Apples")}</w:tc></w:tr></w:tbl>${item("done", 2)}${item("", 2)}`,
    numbering(
      definition(0, level(0, "decimal", "%1.")),
      definition(1, level(0, "bullet", "☒")),
      list(1, 0),
      list(2, 1),
    ),
    "1. | Apples\n\n- ☒ done\n- ☒",
  ],
  "a large first letter belongs to its word, and fields that number are told": [
    paragraph("O", '<w:framePr w:dropCap="drop"/>') +
      paragraph(`${run("nce")}<w:r><w:instrText> AUTONUM </w:instrText></w:r>`),
    {},
    "Once\n-- 1 list number",
  ],
  "a title is a heading, and what its style stands above is none": [
    styled("Plan", "Title") + styled("Ann", "Author"),
    {
      "styles.xml": `<w:styles>${style("Title", "Title", "")}${style("Author", "Author", '<w:basedOn w:val="Title"/>')}</w:styles>`,
    },
    "# Plan\n\nAnn",
  ],
  "a chunk is HTML by its content type too": [
    '<w:altChunk r:id="aFChunk"/>',
    {
      "aFChunk.dat": "<p>inside",
      "../[Content_Types].xml": '<Types><Override PartName="/word/aFChunk.dat" ContentType="text/html"/></Types>',
    },
    "inside",
  ],
  "letters that are drawn": [
    paragraph('<w:r><w:pict><v:textpath string="DRAFT"/></w:pict></w:r>'),
    { "header1.xml": '<w:hdr><v:textpath string="SECRET"/></w:hdr>' },
    "DRAFT\n-- 1 header or footer",
  ],
  "a comment ends with its author, and a row that was deleted with its words is told": [
    `<w:tbl><w:tr><w:tc>${paragraph("kept")}</w:tc></w:tr><w:tr><w:trPr><w:del/></w:trPr><w:tc>${paragraph("words")}</w:tc></w:tr><w:tr><w:trPr><w:del/></w:trPr><w:tc>${paragraph(deleted)}</w:tc></w:tr></w:tbl>${paragraph('<w:r><w:commentReference w:id="0"/></w:r>')}`,
    {
      "comments.xml": `<w:comments><w:comment w:id="0" w:author="Ann&#10;B">${paragraph("Is it?")}</w:comment><w:comment w:id="1" w:author=" ">${paragraph("No")}</w:comment></w:comments>`,
    },
    "kept\n\n[comment 0]\n\n[comments]\n[comment 0] Is it? (Ann B)\n[comment 1] No\n-- 2 deleted by a tracked change",
  ],
};

test.for(Object.entries(CASES))("%s", async ([, [body, parts, text]]) => {
  expect(await read(body, parts)).toBe(text);
});

const math = (name: string, ...parts: string[]) => `<m:${name}>${parts.join("")}</m:${name}>`;
const letters = (words: string) => math("r", math("t", words));
const e = (words: string) => math("e", letters(words));

test.each([
  [
    "c^(2)(1)/(2)",
    math("sSup", e("c"), math("sup", letters("2"))) + math("f", math("num", letters("1")), math("den", letters("2"))),
  ],
  ["x_(i)^(2)", math("sSubSup", e("x"), math("sub", letters("i")), math("sup", letters("2")))],
  ["^(3)√(x+1)", math("rad", math("deg", letters("3")), e("x+1"))],
  ["[a|b}", math("d", '<m:dPr><m:begChr m:val="["/><m:endChr m:val="}"/></m:dPr>', e("a"), e("b"))],
  ["∑_(i=1)^(n)i", math("nary", '<m:chr m:val="∑"/>', math("sub", letters("i=1")), math("sup", letters("n")), e("i"))],
  ["sin x", math("func", math("fName", letters("sin")), e("x"))],
  ["x̂", math("acc", e("x"))],
  [
    "(1 0; 0 1)\n-- 1 equation",
    math("d", math("e", math("m", math("mr", e("1"), e("0")), math("mr", e("0"), e("1"))))),
  ],
  ["x=1; y=2\n-- 1 equation", math("eqArr", e("x&amp;=1"), e("y&amp;=2"))],
])("an equation is a line: %s", async (line, equation) => {
  expect(await read(paragraph(math("oMath", equation)))).toBe(line);
});

test("a part that ends within its text is told", async () => {
  const parts = {
    "numbering.xml": "<w:numbering/>",
    "comments.xml": `<?xml version="1.0"?><w:comments><w:comment w:id="0">${paragraph("cut")}</w:comment>`,
    "endnotes.xml": `<w:endnotes></w:endnotes>\n<!-- end -->`,
  };
  expect(await read(paragraph("whole"), parts)).toBe("whole\n\n[comments]\n[comment 0] cut\n-- 1 damaged part");
});

test("styles and lists that name each other in a circle end", async () => {
  const styles = `<w:styles>${style("A", "A", '<w:basedOn w:val="B"/>')}${style("B", "B", '<w:basedOn w:val="A"/>')}</w:styles>`;
  const lists = numbering(definition(0, '<w:numStyleLink w:val="L"/><w:styleLink w:val="L"/>'), list(1, 0));
  expect(await read(styled("x", "A") + item("y", 1), { "styles.xml": styles, ...lists })).toBe("x\n\ny");
});
