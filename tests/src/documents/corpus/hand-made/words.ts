import { zip } from "../../packed.ts";

// Documents as Word writes them, with what the packages of others do not write.

const W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
const MORE = [
  'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"',
  'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"',
  'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"',
  'xmlns:v="urn:schemas-microsoft-com:vml"',
].join(" ");
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006";

const run = (said: string, properties = "") =>
  `<w:r>${properties && `<w:rPr>${properties}</w:rPr>`}<w:t xml:space="preserve">${said}</w:t></w:r>`;
const paragraph = (inner: string, properties = "") =>
  `<w:p>${properties && `<w:pPr>${properties}</w:pPr>`}${inner}</w:p>`;
const styled = (style: string, said: string) => paragraph(run(said), `<w:pStyle w:val="${style}"/>`);
const item = (list: number, level: number, said: string) =>
  paragraph(run(said), `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="${list}"/></w:numPr>`);
const cell = (said: string, properties = "") => `<w:tc><w:tcPr>${properties}</w:tcPr>${paragraph(run(said))}</w:tc>`;
const row = (cells: string, properties = "") =>
  `<w:tr>${properties && `<w:trPr>${properties}</w:trPr>`}${cells}</w:tr>`;

/** A package with this main part, and parts that it names by relations: their content by the end of the relation's type. */
function docx(body: string, parts: Readonly<Record<string, string>> = {}, bytes?: Buffer): Buffer {
  const names = Object.keys(parts);
  const relations = names.map(
    (type, at) => `<Relationship Id="r${at}" Type="${OFFICE}/${type}" Target="${type}.xml"/>`,
  );
  const main = `<?xml version="1.0" encoding="UTF-8"?><w:document ${W} ${MORE}><w:body>${body}<w:sectPr/></w:body></w:document>`;
  const type = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml";
  return zip([
    {
      name: "[Content_Types].xml",
      data: `<Types xmlns="${PACKAGE}/content-types"><Default Extension="xml" ContentType="application/xml"/><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="${type}"/></Types>`,
    },
    {
      name: "_rels/.rels",
      data: `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="r1" Type="${OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>`,
    },
    { name: "word/document.xml", data: bytes ?? main },
    {
      name: "word/_rels/document.xml.rels",
      data: `<Relationships xmlns="${PACKAGE}/relationships">${relations.join("")}</Relationships>`,
    },
    ...names.map((type) => ({ name: `word/${type}.xml`, data: parts[type] ?? "" })),
  ]);
}

const level = (at: number, format: string, text: string, more = "") =>
  `<w:lvl w:ilvl="${at}"><w:start w:val="1"/><w:numFmt w:val="${format}"/>${more}<w:lvlText w:val="${text}"/></w:lvl>`;
const definition = (id: number, ...levels: string[]) =>
  `<w:abstractNum w:abstractNumId="${id}">${levels.join("")}</w:abstractNum>`;
const list = (id: number, of: number, more = "") =>
  `<w:num w:numId="${id}"><w:abstractNumId w:val="${of}"/>${more}</w:num>`;
const numbering = (inner: string) => `<w:numbering ${W}>${inner}</w:numbering>`;
const styles = (inner: string) => `<w:styles ${W}>${inner}</w:styles>`;

/** Headings that their styles number, a legal level below Roman ones, a list begun anew, one without numbers. */
function charter(): Buffer {
  const heading = (at: number, name: string, level: string, basedOn = "") =>
    `<w:style w:type="paragraph" w:styleId="H${at}"><w:name w:val="${name}"/>${basedOn}<w:pPr><w:numPr>${level}<w:numId w:val="1"/></w:numPr><w:outlineLvl w:val="${at - 1}"/></w:pPr></w:style>`;
  return docx(
    [
      styled("H1", "Scope"),
      styled("H2", "Persons"),
      styled("H2", "Things"),
      styled("H1", "Fees"),
      styled("H2", "Yearly fee"),
      paragraph(run("Not numbered"), '<w:pStyle w:val="H1"/><w:numPr><w:numId w:val="0"/></w:numPr>'),
      item(2, 0, "alpha"),
      item(2, 0, "beta"),
      item(3, 0, "gamma"),
      item(4, 0, "begins at nine"),
      item(2, 0, "delta"),
      item(5, 0, "two digits"),
      item(5, 0, "two digits more"),
    ].join(""),
    {
      numbering: numbering(
        definition(1, level(0, "upperRoman", "%1."), level(1, "decimal", "%1.%2", "<w:isLgl/>")) +
          definition(2, level(0, "lowerLetter", "%1)")) +
          definition(3, level(0, "decimalZero", "No. %1")) +
          list(1, 1) +
          list(2, 2) +
          list(3, 2) +
          list(4, 2, '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="9"/></w:lvlOverride>') +
          list(5, 3),
      ),
      styles: styles(
        heading(1, "heading 1", "") + heading(2, "heading 2", '<w:ilvl w:val="1"/>', '<w:basedOn w:val="H1"/>'),
      ),
    },
  );
}

/** A box of text twice, for new programs and for old ones; its host goes on behind it. */
function box(): Buffer {
  const inner = `<w:txbxContent>${paragraph(run("In the box"))}</w:txbxContent>`;
  const twice = `<mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wps:txbx>${inner}</wps:txbx></w:drawing></mc:Choice><mc:Fallback><w:pict><v:textbox>${inner}</v:textbox></w:pict></mc:Fallback></mc:AlternateContent>`;
  return docx(paragraph(`${run("Left of it")}<w:r>${twice}</w:r>${run(" right of it")}`));
}

/** Fields, content controls, marks of revisions, odd signs. */
function fields(): Buffer {
  const field = (instruction: string, result: string) =>
    `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve"> ${instruction} </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>${run(result)}<w:r><w:fldChar w:fldCharType="end"/></w:r>`;
  const control = (inner: string) =>
    `<w:sdt><w:sdtPr><w:alias w:val="unseen alias"/><w:date w:fullDate="2026-01-05T00:00:00Z"/></w:sdtPr><w:sdtContent>${inner}</w:sdtContent></w:sdt>`;
  return docx(
    [
      paragraph(
        `${run("See page ")}${field("PAGEREF _a1 \\h", "17")}${run(" of ")}${field('HYPERLINK "https://example.com/x"', "the guide")}${run(".")}`,
      ),
      paragraph(`${run("Due on ")}${control(run("5 January 2026"))}${run(" at noon.")}`),
      control(paragraph(run("A block of a form"))),
      paragraph(`<w:fldSimple w:instr=" AUTHOR ">${run("Ann Lee")}</w:fldSimple>${run(" wrote it.")}`),
      paragraph(
        `<w:r><w:t>well</w:t><w:noBreakHyphen/><w:t>known</w:t></w:r><w:r><w:t xml:space="preserve"> and co</w:t><w:softHyphen/><w:t>operate</w:t></w:r>`,
      ),
      paragraph(
        `<w:smartTag w:element="place">${run("Bern")}</w:smartTag><w:ins w:id="1" w:author="a">${run(" is added")}</w:ins><w:moveTo w:id="2" w:author="a">${run(" and moved")}</w:moveTo>`,
      ),
      paragraph(
        `${run("one")}<w:r><w:cr/></w:r>${run("two")}<w:r><w:ptab w:relativeTo="margin" w:alignment="right" w:leader="none"/></w:r>${run("three")}`,
      ),
    ].join(""),
  );
}

/** Tables whose rows begin late, and cells that go on from above. */
function grid(): Buffer {
  const above = (kind: string) => `<w:vMerge${kind}/>`;
  return docx(
    [
      `<w:tbl><w:tblGrid><w:gridCol/><w:gridCol/><w:gridCol/><w:gridCol/></w:tblGrid>`,
      row(cell("a") + cell("b") + cell("c") + cell("d")),
      row(cell("7") + cell("8") + cell("9"), '<w:gridBefore w:val="1"/>'),
      row(cell("North", above(' w:val="restart"')) + cell("n/a", '<w:gridSpan w:val="2"/>') + cell("33")),
      row(cell("", above("")) + cell("4") + cell("5") + cell("6")),
      "</w:tbl>",
      paragraph(run("Behind")),
    ].join(""),
  );
}

/** Readings above characters, a raised style, a paragraph mark that is raised although its text is not. */
function ruby(): Buffer {
  return docx(
    [
      paragraph(
        `<w:r><w:ruby><w:rt>${run("とうきょう")}</w:rt><w:rubyBase>${run("東京")}</w:rubyBase></w:ruby></w:r>${run("に行く")}`,
      ),
      paragraph(`${run("12 m")}${run("2", '<w:rStyle w:val="up"/>')}`),
      paragraph(`${run("plain 5")}`, '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>'),
      paragraph(
        `${run("x")}${run("a", '<w:vertAlign w:val="superscript"/>')}${run("b", '<w:vertAlign w:val="superscript"/>')}${run(" end")}`,
      ),
    ].join(""),
    {
      styles: styles(
        '<w:style w:type="character" w:styleId="up"><w:name w:val="Up"/><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style>',
      ),
    },
  );
}

/** Notes whose ids are in another order than their marks. */
function footnotes(): Buffer {
  const mark = (id: number) => `<w:r><w:footnoteReference w:id="${id}"/></w:r>`;
  const note = (id: number, said: string) =>
    `<w:footnote w:id="${id}">${paragraph(`<w:r><w:footnoteRef/></w:r>${run(said)}`)}</w:footnote>`;
  return docx(paragraph(`${run("First")}${mark(9)}${run(", second")}${mark(4)}${run(".")}`), {
    footnotes: `<w:footnotes ${W}><w:footnote w:type="separator" w:id="-1">${paragraph("<w:r><w:separator/></w:r>")}</w:footnote>${note(4, "Note of the second")}${note(9, "Note of the first")}</w:footnotes>`,
  });
}

/** Sums, brackets, matrices and words in equations. */
function equations(): Buffer {
  const r = (said: string) => `<m:r><m:t>${said}</m:t></m:r>`;
  const e = (inner: string) => `<m:e>${inner}</m:e>`;
  const power = (base: string, to: string) => `<m:sSup>${e(r(base))}<m:sup>${r(to)}</m:sup></m:sSup>`;
  const half = `<m:f><m:num>${r("1")}</m:num><m:den>${r("2")}</m:den></m:f>`;
  return docx(
    [
      paragraph(
        `${run("Energy ")}<m:oMath>${r("E=m")}${power("c", "2")}</m:oMath>${run(" and ")}<m:oMath>${half}</m:oMath>${run(".")}`,
      ),
      `<w:p><m:oMathPara><m:oMath><m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>${r("i=1")}</m:sub><m:sup>${r("n")}</m:sup>${e(r("i"))}</m:nary></m:oMath></m:oMathPara></w:p>`,
      `<w:p><m:oMath><m:d>${e(r("a+b"))}</m:d>${power("x", "10")}</m:oMath></w:p>`,
    ].join(""),
  );
}

const choice = (said: string) => `<mc:Choice Requires="w14"><w:t>${said}</w:t></mc:Choice>`;
const CHOICES = `<mc:AlternateContent>${choice("Newest")}${choice("Newer")}<mc:Fallback><w:t>Old</w:t></mc:Fallback></mc:AlternateContent>`;

const plain = (words: string) =>
  `<document xmlns="http://purl.oclc.org/ooxml/wordprocessingml/main"><body><p><pPr><pStyle val="H"/></pPr><r><t>${words}</t></r></p><tbl><tr><tc><p><r><t>a</t></r></p></tc><tc><p><r><t>b</t></r></p></tc></tr></tbl></body></document>`;

/** A field in the code of another one, as letters to many people have it. */
function letter(): Buffer {
  const mark = (type: string) => `<w:r><w:fldChar w:fldCharType="${type}"/></w:r>`;
  const code = (said: string) => `<w:r><w:instrText>${said}</w:instrText></w:r>`;
  const field = (inner: string, result: string) => mark("begin") + inner + mark("separate") + run(result) + mark("end");
  const inner = field(code("MERGEFIELD sex"), "f");
  const outer = field(code("IF ") + inner + code(' = "f" "Ms" "Mr"'), "Ms");
  return docx(paragraph(run("Dear ") + outer + run(" Lee")));
}

/** A cell that was wider, a number by a simple field, boxed equations, a picture that is linked. */
function merged(): Buffer {
  const equation = (element: string, said: string) =>
    `<m:${element}><m:e><m:r><m:t>${said}</m:t></m:r></m:e></m:${element}>`;
  const wider = '<w:tcPrChange><w:tcPr><w:gridSpan w:val="3"/></w:tcPr></w:tcPrChange>';
  const picture = `<a:blip xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="${OFFICE}" r:link="r9"/>`;
  return docx(
    [
      `<w:tbl>${row(cell("Name") + cell("May") + cell("June"))}`,
      `${row(cell("Ann", wider) + cell("7") + cell("9"))}</w:tbl>`,
      paragraph(`<w:fldSimple w:instr=" AUTONUM "/>${run(" A numbered clause")}`),
      paragraph(`<m:oMath>${equation("box", "a")}${equation("borderBox", "=b")}${equation("phant", "+c")}</m:oMath>`),
      paragraph(`<w:r><w:drawing>${picture}</w:drawing></w:r>`),
    ].join(""),
  );
}

export const WORDS: Readonly<Record<string, () => Buffer>> = {
  "charter.docx": charter,
  "letter.docx": letter,
  "merged.docx": merged,
  "box.docx": box,
  "fields.docx": fields,
  "grid.docx": grid,
  "ruby.docx": ruby,
  "footnotes.docx": footnotes,
  "equations.docx": equations,
  "choices.docx": () => docx(paragraph(`<w:r>${CHOICES}</w:r>`)),
  "mangled.docx": () => docx("", {}, Buffer.from(plain("Caf\u00e9 words"), "latin1")),
  "strict.docx": () => docx("", {}, Buffer.from(plain("Strict words"))),
  "utf16.docx": () =>
    docx(
      "",
      {},
      Buffer.from(
        `\ufeff<?xml version="1.0" encoding="UTF-16"?><w:document ${W}><w:body>${paragraph(run("Größe in UTF-16"))}</w:body></w:document>`,
        "utf16le",
      ),
    ),
};
