import { zip } from "../../packed.ts";

// Documents of OpenDocument with what LibreOffice writes only for who asks it.

const NAMES = [
  ...["office", "text", "style", "table", "draw", "presentation"].map(
    (name) => `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name === "draw" ? "drawing" : name}:1.0"`,
  ),
  'xmlns:loext="urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0"',
  'xmlns:dc="http://purl.org/dc/elements/1.1/"',
  'xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"',
].join(" ");

function open(of: string, styles: string, body: string): Buffer {
  return zip([
    { name: "mimetype", data: `application/vnd.oasis.opendocument.${of}` },
    {
      name: "content.xml",
      data: `<?xml version="1.0" encoding="UTF-8"?><office:document-content ${NAMES}><office:automatic-styles>${styles}</office:automatic-styles><office:body><office:${of}>${body}</office:${of}></office:body></office:document-content>`,
    },
  ]);
}

const p = (said: string) => `<text:p>${said}</text:p>`;
const item = (inner: string, more = "") => `<text:list-item${more}>${inner}</text:list-item>`;
const list = (inner: string, more = ' text:style-name="L"') => `<text:list${more}>${inner}</text:list>`;
const cell = (said: string, more = "") => `<table:table-cell${more}>${p(said)}</table:table-cell>`;
const row = (cells: string) => `<table:table-row>${cells}</table:table-row>`;

/** Lists that begin at a number, go on, skip an item; a deleted text; a table whose cells cover others. */
function bylaws(): Buffer {
  const levels = [
    '<text:list-level-style-number text:level="1" style:num-prefix="§ " style:num-format="1"/>',
    '<text:list-level-style-number text:level="2" style:num-format="a" style:num-prefix="(" style:num-suffix=")"/>',
    '<text:list-level-style-bullet text:level="3" text:bullet-char="–"/>',
  ];
  return open(
    "text",
    [
      `<text:list-style style:name="L">${levels.join("")}</text:list-style>`,
      '<text:list-style style:name="R"><text:list-level-style-number text:level="1" style:num-format="I" style:num-suffix="." text:start-value="4"/><text:list-level-style-number text:level="2" style:num-format="1" text:display-levels="2" loext:is-legal="true"/></text:list-style>',
      '<style:style style:name="up" style:family="text"><style:text-properties style:text-position="super 58%"/></style:style>',
      '<style:style style:name="down" style:family="text"><style:text-properties style:text-position="-33% 58%"/></style:style>',
    ].join(""),
    [
      "<text:tracked-changes><text:changed-region><text:deletion><text:p>was deleted</text:p></text:deletion></text:changed-region></text:tracked-changes>",
      list(item(p("Name") + list(item(p("It is Gull.")) + item(p("It is loud.")), "")) + item(p("Seat"))),
      p("Between the paragraphs."),
      list(item(p("Members")), ' text:style-name="L" text:continue-numbering="true"'),
      list(item(p("Board"), ' text:start-value="7"') + item(p("Audit"))),
      list(
        `<text:list-header>${p("No number here")}</text:list-header>${item(p("From four") + list(item(p("Legal level")), ""))}`,
        ' text:style-name="R"',
      ),
      p(
        '10<text:span text:style-name="up">6</text:span> of CO<text:span text:style-name="down">2</text:span>, the 1<text:span text:style-name="up">st</text:span>',
      ),
      `<table:table table:name="T"><table:table-column table:number-columns-repeated="4"/>${row(`${cell("North") + cell("n/a", ' table:number-columns-spanned="2"')}<table:covered-table-cell/>${cell("33")}`)}${row(cell("South", ' table:number-rows-spanned="2"') + cell("1") + cell("2") + cell("3"))}${row(`<table:covered-table-cell/>${cell("4")}${cell("5")}${cell("6")}`)}</table:table>`,
      // pandoc writes no cells that others cover.
      `<table:table table:name="U">${row(cell("Head") + cell("over two", ' table:number-columns-spanned="2"') + cell("last"))}${row(cell("down", ' table:number-rows-spanned="2"') + cell("b") + cell("c") + cell("d"))}${row(cell("f") + cell("g") + cell("h"))}</table:table>`,
      p("<text:ruby><text:ruby-base>東京</text:ruby-base><text:ruby-text>とうきょう</text:ruby-text></text:ruby>です"),
      p(
        'Told<text:note text:note-class="footnote"><text:note-citation>*</text:note-citation><text:note-body><text:p>At the foot.</text:p></text:note-body></text:note> here.',
      ),
    ].join(""),
  );
}

/** Slides with notes that hold a field, and a table. */
function review(): Buffer {
  const frame = (inner: string) => `<draw:frame><draw:text-box>${inner}</draw:text-box></draw:frame>`;
  // LibreOffice gives each list of a slide a style of its own.
  const steps = (style: string, inner: string) => list(inner, ` text:style-name="${style}"`);
  const style = (name: string) =>
    `<text:list-style style:name="${name}"><text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/></text:list-style>`;
  return open(
    "presentation",
    style("A") + style("B"),
    [
      `<draw:page draw:name="a">${frame(p("Results"))}<presentation:notes>${frame(p("<text:page-number>&lt;number&gt;</text:page-number>"))}${frame(p("Thank them"))}</presentation:notes></draw:page>`,
      `<draw:page draw:name="b"><draw:frame><table:table>${row(cell("x") + cell("y"))}</table:table></draw:frame><draw:g>${frame(p("grouped"))}</draw:g></draw:page>`,
      `<draw:page draw:name="c">${frame(steps("A", item(p("Dig")) + item(p("Build"))) + steps("B", item(list(item(p("by hand")), "")) + item(p("Paint"))))}</draw:page>`,
    ].join(""),
  );
}

/** Repeated cells and rows, a merged one, a comment, a sum that is a duration. */
function spends(): Buffer {
  const value = (type: string, given: string, said: string, more = "") =>
    `<table:table-cell office:value-type="${type}" office:${given}${more}>${p(said)}</table:table-cell>`;
  return open(
    "spreadsheet",
    '<style:style style:name="T1" style:family="text"><style:text-properties style:text-position="super 58%"/></style:style>',
    `<table:table table:name="Spends">${[
      row(`${cell("a")}<table:table-cell table:number-columns-repeated="2"/>${cell("d")}`),
      row(
        value("time", 'time-value="PT52H30M00S"', "52:30:00") +
          value("percentage", 'value="0.125"', "12.5 %") +
          value("boolean", 'boolean-value="true"', "TRUE"),
      ),
      row(`${cell("over two", ' table:number-columns-spanned="2"')}<table:covered-table-cell/>${cell("third")}`),
      row(
        `<table:table-cell><office:annotation><dc:creator>Bo</dc:creator>${p("why so much?")}</office:annotation>${p('a<text:s text:c="3"/>b<text:tab/>c<text:line-break/>d')}</table:table-cell>`,
      ),
      `<table:table-row table:number-rows-repeated="3">${cell("thrice")}</table:table-row>`,
      row(
        value("date", 'date-value="2024-02-29T13:05:00"', "29.02.24 13:05") +
          value("currency", 'value="-4.5"', "-4,50 €"),
      ),
      row(cell('10<text:span text:style-name="T1">6</text:span> bolts')),
    ].join("")}</table:table>`,
  );
}

/** A text whose type its list of parts alone tells. */
const listed = () =>
  zip([
    {
      name: "META-INF/manifest.xml",
      data: `<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><m:file-entry m:full-path="/" m:media-type="application/vnd.oasis.opendocument.text"/><m:file-entry m:full-path="content.xml" m:media-type="text/xml"/></m:manifest>`,
    },
    {
      name: "content.xml",
      data: `<office:document-content ${NAMES}><office:body><office:text>${p("Packed by hand.")}</office:text></office:body></office:document-content>`,
    },
  ]);

export const OPEN: Readonly<Record<string, () => Buffer>> = {
  ...{ "bylaws.odt": bylaws, "listed.odt": listed, "results.odp": review, "spends.ods": spends },
};
