import { expect, test } from "vitest";
import type { SmallContext } from "../../../../src/context/index.ts";
import { load } from "../../../../src/context/load/load.ts";
import { folderWith } from "../../../support/tree.ts";
import { zip } from "../packed.ts";

// Texts, presentations and drawings of OpenDocument: what people see of lists, notes, boxes, tables, forms and objects. LibreOffice 24 printed the labels.

/** A document of these parts. */
interface Odf {
  readonly body: string;
  /** Styles of content.xml, and of styles.xml. */
  readonly automatic?: string;
  readonly styles?: string;
  readonly kind?: "text" | "presentation" | "graphics";
  readonly parts?: Readonly<Record<string, string>>;
}

function odf({ body, automatic = "", styles = "", kind = "text", parts = {} }: Odf): Buffer {
  const element = kind === "graphics" ? "drawing" : kind;
  const content = `<office:automatic-styles>${automatic}</office:automatic-styles><office:body><office:${element}>${body}</office:${element}></office:body>`;
  return zip([
    { name: "mimetype", data: `application/vnd.oasis.opendocument.${kind}` },
    { name: "content.xml", data: `<office:document-content>${content}</office:document-content>` },
    { name: "styles.xml", data: `<office:document-styles>${styles}</office:document-styles>` },
    ...Object.entries(parts).map(([name, data]) => ({ name, data })),
  ]);
}

const p = (said: string, style = "") => `<text:p text:style-name="${style}">${said}</text:p>`;
const h = (said: string, level: number, more = "") => `<text:h text:outline-level="${level}" ${more}>${said}</text:h>`;
const item = (inner: string, more = "") => `<text:list-item ${more}>${inner}</text:list-item>`;
const list = (more: string, ...items: readonly string[]) => `<text:list ${more}>${items.join("")}</text:list>`;
const OF = (style: string) => `text:style-name="${style}"`;
const number = (level: number, more = "", format = "1") =>
  `<text:list-level-style-number text:level="${level}" style:num-format="${format}" ${more}/>`;
const DOT = 'style:num-suffix="."';
const SHOWN = 'text:display-levels="2"';
const listStyle = (name: string, ...levels: readonly string[]) =>
  `<text:list-style style:name="${name}">${levels.join("")}</text:list-style>`;
const LEGAL = listStyle(
  "L",
  number(1, DOT),
  number(2, SHOWN),
  number(3, 'style:num-prefix="(" style:num-suffix=")"', "a"),
);
const outline = (level: number) =>
  `<text:outline-level-style text:level="${level}" style:num-format="1" text:display-levels="${level}"/>`;
const OUTLINE = `<text:outline-style style:name="Outline">${outline(1)}${outline(2)}</text:outline-style>`;
const cell = (inner: string, more = "") => `<table:table-cell ${more}>${inner}</table:table-cell>`;
const row = (...cells: readonly string[]) => `<table:table-row>${cells.join("")}</table:table-row>`;
const note = (said: string, more = "", sign = "") =>
  `<text:note ${more}>\n<text:note-citation ${sign}>9</text:note-citation><text:note-body>${p(said)}</text:note-body></text:note>`;
const box = (inner: string) => `<draw:frame><draw:text-box>${inner}</draw:text-box></draw:frame>`;
const wordStyle = (name: string, position: string, above = "") =>
  `<style:style style:name="${name}" style:family="text" style:parent-style-name="${above}"><style:text-properties style:text-position="${position}"/></style:style>`;
const span = (style: string, said: string) => `<text:span text:style-name="${style}">${said}</text:span>`;

/** By what a person would say of it: the document, its text, and its losses. */
const CASES: Readonly<
  Record<string, readonly [document: Odf, text: string, losses?: Readonly<Record<string, number>>]>
> = {
  "clauses of three levels have their labels": [
    {
      automatic: LEGAL,
      body: list(
        OF("L"),
        item(p("Definitions") + list("", item(p("Supplier") + list("", item(p("A")), item(p("B")))), item(p("Buyer")))),
        item(p("Term") + p("goes on") + list("", item(p("Years")))),
      ),
    },
    "1. Definitions\n  1.1 Supplier\n    (a) A\n    (b) B\n  1.2 Buyer\n2. Term\n\ngoes on\n  2.1 Years",
  ],
  "a list begins anew, or goes on where it says so": [
    {
      automatic: LEGAL,
      body: [
        list(`${OF("L")} xml:id="first"`, item(p("one") + list("", item(p("one one"))))),
        p("between"),
        list(`${OF("L")} text:continue-numbering="true"`, item(list("", item(p("one two")))), item(p("two"))),
        list(OF("L"), item(p("anew"))),
        list(`${OF("L")} text:continue-list="first"`, item(p("three"))),
      ].join(""),
    },
    "1. one\n  1.1 one one\n\nbetween\n  1.2 one two\n2. two\n1. anew\n3. three",
  ],
  "starts, headers, empty items and second lists of an item": [
    {
      automatic: listStyle("L", number(1, `${DOT} text:start-value="5"`), number(2, "", "i")),
      body: list(
        OF("L"),
        `<text:list-header>${p("head")}</text:list-header>`,
        item(p("five")),
        item(p("")),
        item(p("ten") + list("", item(p("i"))) + p("between") + list("", item(p("i again"))), 'text:start-value="10"'),
      ),
    },
    "head\n5. five\n6.\n10. ten\n  i i\n\nbetween\n  i i again",
  ],
  "forms of numbers": [
    {
      automatic: [
        listStyle("A", number(1, 'text:start-value="27" style:num-letter-sync="true"', "A")),
        listStyle("a", number(1, 'text:start-value="28"', "a")),
        listStyle("I", number(1, 'style:num-prefix="Article "', "I"), number(2, 'loext:num-list-format="%1%-%2%)"')),
        listStyle("0", number(1, "", "01, 02, 03, ...")),
        listStyle("absent", '<text:list-level-style-number text:level="1" style:num-suffix=")"/>'),
        listStyle("?", number(1, "", "①, ②, ③, ...")),
        listStyle("none", number(1, DOT, ""), number(2, SHOWN)),
      ].join(""),
      body: [
        ...["A", "a", "0", "absent", "?"].map((style) => list(OF(style), item(p("x")))),
        ...["I", "none"].map((style) => list(OF(style), item(p("x") + list("", item(p("y")))))),
      ].join(""),
    },
    "AA x\nab x\n01 x\n1) x\n1 x\nArticle I x\n  I-1) y\n. x\n  1 y",
    { "list number": 1 },
  ],
  "bullets, lists without a style, and those of a style of paragraphs": [
    {
      styles: `${LEGAL}<style:style style:name="Above" style:family="paragraph" style:list-style-name="L"/><style:style style:name="P" style:family="paragraph" style:parent-style-name="Above"/>`,
      automatic: listStyle("B", '<text:list-level-style-bullet text:level="1" text:bullet-char="•"/>', number(2)),
      body: [
        list(OF("B"), item(p("bullet") + list("", item(p("number"))))),
        list("", item(p("no style")), item(p("its own", "P"))),
        p("in no list", "P"),
      ].join(""),
    },
    "- bullet\n  1 number\n- no style\n2. its own\n\nin no list",
  ],
  "headings have the numbers of the outline, unless they are headers or were taken out of it": [
    {
      styles: OUTLINE,
      automatic: '<style:style style:name="P1" style:family="paragraph" style:list-style-name=""/>',
      body: [
        h("One", 1),
        h("One one", 2),
        h("Header", 1, 'text:is-list-header="true"'),
        h("Out", 1, OF("P1")),
        list(OF("Outline"), item(h("Two", 1))),
        h("Seven", 1, 'text:restart-numbering="true" text:start-value="7"'),
      ].join(""),
    },
    "# 1 One\n\n## 1.1 One one\n\n# Header\n\n# Out\n\n# 2 Two\n\n# 7 Seven",
  ],
  "paragraphs that have their numbers without a list are told": [
    {
      automatic: LEGAL,
      body: ["1", "2", "1"]
        .map(
          (at) =>
            `<text:numbered-paragraph text:list-id="q" ${OF("L")} text:level="${at}">${p("x")}</text:numbered-paragraph>`,
        )
        .join(""),
    },
    "x\n\nx\n\nx",
    { "list number": 3 },
  ],
  "raised and lowered words, by styles and those above them": [
    {
      automatic:
        wordStyle("Up", "super 58%") + wordStyle("Child", "-33% 80%", "Up") + wordStyle("Flat", "0% 100%", "Up"),
      styles: '<style:style style:name="Heir" style:family="text" style:parent-style-name="Up"/>',
      body: p(
        `10${span("Up", `6${span("", "7")}`)} 4,217${span("Heir", "1")} 1${span("Up", "st")} 9${span("Flat", "9")} 3${span("Child", "2")}`,
      ),
    },
    "10^67 4,217^1 1st 99 3_2",
  ],
  "signs of fonts of symbols": [
    {
      automatic: `<style:font-face style:name="W1" svg:font-family="'Wingdings'"/><style:style style:name="W" style:family="text"><style:text-properties style:font-name="W1"/></style:style>`,
      body: p(`done ${span("W", "\uf0fe")}, \uf0fe`),
    },
    "done 🗹, [F0FE]",
    { "character without a meaning": 1 },
  ],
  "notes are numbered as they are printed, without those that have a sign": [
    {
      body: p(
        `a${note("one")}, b${note("star", "", 'text:label="*"')} c<office:annotation><dc:creator>Jane</dc:creator>${p("Is it?")}</office:annotation>${note("two")} d${note("end", 'text:note-class="endnote"')}`,
      ),
    },
    "a[^1], b[^*] c[comment 3][^2] d[^e1]\n\n[notes]\n[^1] one\n[^*] star\n[comment 3] Is it? (Jane)\n[^2] two\n[^e1] end",
  ],
  "boxes stand behind their paragraph, with tables and lists": [
    {
      automatic: LEGAL,
      body: list(
        OF("L"),
        item(
          p(
            `Host ${box(`${p("Boxed")}<table:table>${row(cell(p("a")), cell(p("b")))}</table:table>${list(OF("L"), item(p("own")))}`)}goes on`,
          ),
        ),
        item(p(`two<draw:custom-shape>${p("Shape")}</draw:custom-shape>`)),
      ),
    },
    "1. Host goes on\n\nBoxed\n\na | b\n\n1. own\n2. two\n\nShape",
  ],
  "cells that span columns and rows": [
    {
      body: `<table:table>${[
        row(
          cell(p("North")),
          cell(p("n/a"), 'table:number-columns-spanned="2"'),
          "<table:covered-table-cell/>",
          cell(p("33")),
        ),
        row(
          '<table:covered-table-cell table:number-columns-repeated="2"><text:p>hidden</text:p></table:covered-table-cell>',
          cell(p("8")),
          cell("", 'table:number-columns-repeated="2"'),
          cell(p("9")),
        ),
      ].join("")}</table:table>`,
    },
    "North | n/a |  | 33\n |  | 8 |  |  | 9",
  ],
  "cells and rows that are repeated": [
    {
      body: `<table:table><table:table-row table:number-rows-repeated="2">${cell(p("x"), 'table:number-columns-repeated="3"')}${cell(p("y"))}</table:table-row></table:table>`,
    },
    "x | x | x | y\nx | x | x | y",
  ],
  "white space, and elements that people do not see": [
    {
      automatic: "<number:date-style><number:text>.</number:text></number:date-style>",
      body: `<text:table-of-content><text:table-of-content-source><text:index-title-template>Template</text:index-title-template></text:table-of-content-source><text:index-body>${p("One<text:tab/>3")}</text:index-body></text:table-of-content>${p('\n  a\n  b <text:span> c</text:span><text:s text:c="2"/>d<text:line-break/>e <text:soft-page-break/>f<svg:desc>alt</svg:desc>')}${p('<text:page-number>4</text:page-number><text:hidden-text text:string-value="x"/><text:date>24 May</text:date>')}`,
    },
    "One\t3\n\na b c  d\ne f\n\n24 May",
  ],
  "tracked changes": [
    {
      body: `<text:tracked-changes>${"<text:changed-region><text:deletion><office:change-info><dc:creator>J</dc:creator></office:change-info><text:p>gone</text:p></text:deletion></text:changed-region>".repeat(2)}<text:changed-region><text:insertion><office:change-info><dc:creator>J</dc:creator></office:change-info></text:insertion></text:changed-region></text:tracked-changes>${p("kept <text:change-start/>new<text:change-end/>")}`,
    },
    "kept new",
    { "deleted by a tracked change": 2 },
  ],
  "headers and footers with words, and readings of characters": [
    {
      styles: `<style:header>${p("Head")}</style:header><style:footer>${p("<text:page-number>1</text:page-number>")}</style:footer><style:footer-first>${p("First")}</style:footer-first><style:header-left>${p("")}</style:header-left>`,
      body: p("<text:ruby><text:ruby-base>漢字</text:ruby-base><text:ruby-text>かんじ</text:ruby-text></text:ruby>"),
    },
    "漢字",
    { "header or footer": 2, "reading of characters": 1 },
  ],
  "fields of forms are told": [
    {
      body: [
        '<office:forms><form:form><form:textarea xml:id="t"><text:p>value</text:p></form:textarea><form:checkbox xml:id="c" form:label="I agree"/></form:form></office:forms>',
        p('Name: <draw:control draw:control="t" text:anchor-type="as-char"/>of <draw:control draw:control="c"/>here'),
      ].join(""),
    },
    "Name: of here",
    { "form field": 2 },
  ],
  "equations as they were typed, or as lines, and other objects": [
    {
      parts: {
        "Formula-0/content.xml": "<math><semantics><mi>m</mi><annotation>m = c^2</annotation></semantics></math>",
        "Object 2/content.xml": "<math><mfrac><mn>1</mn><mn>2</mn></mfrac></math>",
        "Chart A/content.xml":
          "<office:document-content><office:chart><text:p>Sales</text:p></office:chart></office:document-content>",
        "Sheet/content.xml":
          "<office:document-content><office:spreadsheet><text:p>9</text:p></office:spreadsheet></office:document-content>",
      },
      body: p(
        ["./Formula-0", "Object 2", "./Chart A", "./Sheet", "../linked.ods"]
          .map((name) => `<draw:frame><draw:object xlink:href="${name}"/></draw:frame> `)
          .join(""),
      ),
    },
    "m = c^2 (1)/(2)",
    { chart: 1, "embedded object": 2 },
  ],
  "slides count by shape, and templates and declared words are not theirs": [
    {
      kind: "presentation",
      automatic: LEGAL,
      styles: `<office:master-styles><style:master-page>${box(p("Click to edit"))}</style:master-page></office:master-styles>`,
      body: `<presentation:footer-decl>Confidential</presentation:footer-decl><presentation:date-time-decl/><draw:page>${[
        box(list(OF("L"), item(p("one"))) + list(OF("L"), item(p("two")))),
        box(list(`${OF("L")} text:continue-numbering="true"`, item(p("one of its own")))),
      ].join(
        "",
      )}<office:annotation>${p("Good")}</office:annotation><presentation:notes>${box(p("Say it"))}${box(p("<text:page-number>&lt;number&gt;</text:page-number>"))}</presentation:notes></draw:page>`,
    },
    "[slide 1]\n1. one\n2. two\n1. one of its own\n\n[comment 1]\n\nSay it\n\n[notes]\n[comment 1] Good",
    { "header or footer": 1 },
  ],
  "a drawing is read page by page": [
    {
      kind: "graphics",
      body: `<draw:page><draw:custom-shape>${p("Pump")}</draw:custom-shape><draw:g><draw:connector>${p("4 bar")}</draw:connector></draw:g></draw:page><draw:page/>`,
    },
    "[page 1]\nPump\n\n4 bar\n\n[page 2]",
    { "page without text": 1 },
  ],
};
const NAMES = Object.keys(CASES);

/** All cases, read by the first test that asks. */
let loaded: Promise<SmallContext> | undefined;

async function all(): Promise<SmallContext> {
  const cwd = folderWith(
    Object.fromEntries(NAMES.map((name) => [`${name}.odt`, odf(CASES[name]?.[0] ?? { body: "" })])),
  );
  return load({ kind: "path", path: "." }, { cwd, roots: [cwd] });
}

test.for(NAMES)("%s", async (name) => {
  loaded ??= all();
  const { text, documents } = await loaded;
  const { start = 0, end = 0, lost = [] } = documents.find(({ id }) => id === `${name}.odt`) ?? {};
  const [, said, losses = {}] = CASES[name] ?? [];
  expect(text.slice(start, end).trimEnd()).toBe(said);
  expect(Object.fromEntries(lost.map(({ kind, count }) => [kind, count]))).toEqual(losses);
});
