import { expect, test } from "vitest";
import type { SmallContext } from "../../../src/context/index.ts";
import { load } from "../../../src/context/load/load.ts";
import { folderWith } from "../../support/tree.ts";
import { zip } from "./packed.ts";

// Slides as people see them: labels of lists, raised digits, merged cells, fields, equations, and what older programs get instead.

const run = (text: string, properties = "") => `<a:r><a:rPr${properties}/><a:t>${text}</a:t></a:r>`;
const line = (text: string, properties = "") => `<a:p><a:pPr>${properties}</a:pPr>${run(text)}</a:p>`;
const box = (inner: string, look = "") => `<p:sp><p:txBody><a:lstStyle>${look}</a:lstStyle>${inner}</p:txBody></p:sp>`;
const filled = (holder: string, inner: string, look?: string) =>
  box(inner, look).replace("<p:sp>", `<p:sp><p:ph ${holder}/>`);
const level = (number: number, mark: string) => `<a:lvl${number}pPr>${mark}</a:lvl${number}pPr>`;
const numbered = (text: string, type: string, level = 0, more = "") =>
  `<a:p><a:pPr lvl="${level}"><a:buAutoNum type="${type}"${more}/></a:pPr>${run(text)}</a:p>`;
const cell = (text: string, more = "") => `<a:tc${more}><a:txBody>${line(text)}</a:txBody></a:tc>`;
const either = (choice: string, fallback: string) =>
  `<mc:AlternateContent><mc:Choice Requires="a14">${choice}</mc:Choice><mc:Fallback>${fallback}</mc:Fallback></mc:AlternateContent>`;

const math = (text: string) => `<m:r><a:rPr/><m:t>${text}</m:t></m:r>`;
const sup = (base: string, raised: string) => `<m:sSup><m:e>${math(base)}</m:e><m:sup>${math(raised)}</m:sup></m:sSup>`;
const fraction = (over: string, under: string) =>
  `<m:f><m:num>${math(over)}</m:num><m:den>${math(under)}</m:den></m:f>`;

interface Slide {
  readonly says: string;
  readonly shapes: string;
  readonly text: string;
  /** The losses, as `kind: where`. */
  readonly lost?: readonly string[];
}

const SLIDES: readonly Slide[] = [
  {
    says: "numbers count by shape and level, and deeper ones do not end the list",
    shapes:
      box(
        [
          numbered("one", "arabicPeriod"),
          numbered("deep", "alphaLcParenR", 1),
          numbered("deeper", "romanUcParenBoth", 2),
          numbered("deep too", "alphaLcParenR", 1),
          numbered("two", "arabicPeriod"),
          numbered("deep again", "alphaLcParenR", 1),
        ].join(""),
      ) + box(numbered("another", "arabicPeriod")),
    text: "1. one\n  a) deep\n    (I) deeper\n  b) deep too\n2. two\n  a) deep again\n1. another\n",
  },
  {
    says: "a start counts on, another kind and a line without a number begin anew, an empty line does not",
    shapes: box(
      [
        numbered("five", "arabicPlain", 0, ' startAt="5"'),
        "<a:p/>",
        numbered("six", "arabicPlain", 0, ' startAt="5"'),
        numbered("A", "alphaUcPeriod"),
        line("between"),
        numbered("A again", "alphaUcPeriod"),
      ].join(""),
    ),
    text: "5 five\n6 six\nA. A\nbetween\nA. A again\n",
  },
  {
    says: "signs are bullets, and a shape says for all lines of a level which numbers begin them",
    shapes: box(
      `${line("first")}${line("none", "<a:buNone/>")}<a:p><a:pPr lvl="1"/>${run("below")}</a:p>${line("sign", '<a:buChar char="•"/>')}`,
      '<a:lvl1pPr><a:buAutoNum type="arabicPeriod"/></a:lvl1pPr><a:lvl2pPr><a:buChar char="-"/></a:lvl2pPr>',
    ),
    text: "1. first\nnone\nbelow\n- sign\n",
  },
  {
    says: "a placeholder takes numbers from that of the layout, of the master, and from what the master says for all",
    shapes: [
      filled('type="body" idx="7"', line("one") + line("none", "<a:buNone/>") + line("one again")),
      filled('idx="7"', line("shape"), '<a:lvl1pPr><a:buChar char="-"/></a:lvl1pPr>'),
      filled('idx="8"', `${line("signs")}<a:p><a:pPr lvl="1"/>${run("master")}</a:p>`),
      filled('idx="9"', `${line("all")}<a:p><a:pPr lvl="2"/>${run("deep")}</a:p>`),
      filled('type="title"', line("title")),
      filled('type="dt" idx="7"', line("date")),
      box(line("text box")),
      `<p:graphicFrame><p:ph idx="7"/><a:tbl><a:tr>${cell("x")}${cell("y")}</a:tr></a:tbl></p:graphicFrame>`,
    ].join(""),
    text: "1. one\nnone\n1. one again\nshape\nsigns\n  a) master\nI. all\n    i) deep\ntitle\ndate\ntext box\nx | y\n",
  },
  {
    says: "numbers of other scripts are decimal, and told",
    shapes: box(numbered("one", "thaiNumPeriod")),
    text: "1. one\n",
    lost: ["list number: thaiNumPeriod"],
  },
  {
    says: "what is raised or lowered does not become a part of a number",
    shapes: box(
      `<a:p>${run("10")}${run("6", ' baseline="30000"')}${run(", 4,217")}${run("1", ' baseline="30%"')}${run(" CO")}${run("2", ' baseline="-25000"')}${run(" 1")}${run("st", ' baseline="30000"')}</a:p>`,
    ),
    text: "10^6, 4,217^1 CO2 1st\n",
  },
  {
    says: "cells that another one covers are empty",
    shapes: `<a:tbl><a:tr>${cell("North", ' gridSpan="2"')}${cell("stale", ' hMerge="1"')}${cell("33")}</a:tr><a:tr>${cell("x", ' rowSpan="2"')}${cell("7")}${cell("8")}</a:tr><a:tr>${cell("", ' vMerge="true"')}${cell("9")}${cell("10")}</a:tr></a:tbl>`,
    text: "North |  | 33\nx | 7 | 8\n | 9 | 10\n",
  },
  {
    says: "the number of the slide is silent, and other fields are text",
    shapes: box(
      '<a:p><a:r><a:t>On </a:t></a:r><a:fld type="datetime1"><a:pPr lvl="3"/><a:t>1 May 2026</a:t></a:fld></a:p><a:p><a:fld type="slidenum"><a:t>7</a:t></a:fld></a:p>',
    ),
    text: "On 1 May 2026\n",
  },
  {
    says: "an equation is a line, once, and one over several lines is told",
    shapes: box(
      `<a:p>${run("E = m")}${either(`<a14:m><m:oMath>${sup("c", "2")}${fraction("1", "2")}</m:oMath></a14:m>`, run("E = ?"))}</a:p><a:p><a14:m><m:oMath><m:m><m:mr><m:e>${math("a")}</m:e></m:mr></m:m></m:oMath></a14:m></a:p>`,
    ),
    text: "E = mc^(2)(1)/(2)\na\n",
    lost: ["equation: "],
  },
  {
    says: "a sign of a font of symbols is its own, and one that has none is told",
    shapes: box(
      `<a:p><a:r><a:rPr><a:latin typeface="Wingdings"/></a:rPr><a:t>\u00fc</a:t></a:r>${run(" f\u00fcr ")}<a:r><a:rPr><a:sym typeface="Wingdings"/></a:rPr><a:t>\u00e0</a:t></a:r><a:r><a:rPr><a:sym typeface="Wingdings"/></a:rPr><a:t> f\u00fcr</a:t></a:r>${run(" \uf123")}</a:p>`,
    ),
    text: "\u2713 f\u00fcr \u{1f86a} f\u00fcr [F123]\n",
    lost: ["character without a meaning: "],
  },
  {
    says: "what older programs get instead is told only if the newer ones have no text",
    shapes:
      either(box(line("new")), box(line("old"))) +
      either("<p:pic/>", `${box(line("lost"))}<a:tbl><a:tr>${cell("a")}${cell("b")}</a:tr></a:tbl>`),
    text: "new\n",
    lost: ["unread element: a:t"],
  },
  {
    says: "ids of the looks of tables and names in animations are silent",
    shapes: `<a:tbl><a:tableStyleId>{5C22544A}</a:tableStyleId><a:tr>${cell("a")}</a:tr></a:tbl><p:timing><p:attrName>style.visibility</p:attrName></p:timing>`,
    text: "a\n",
  },
];

const RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/slide";
const SIGN = '<a:buChar char="-"/>';
const LAYOUT = `<p:sldLayout>${[
  filled('idx="7"', line("Click"), level(1, '<a:buAutoNum type="arabicPeriod"/>')),
  box(line("Draft"), level(1, SIGN)),
  filled('idx="8"', line("Click"), level(1, SIGN)),
].join("")}</p:sldLayout>`;
const MASTER = `<p:sldMaster>${filled('type="body"', line("Click"), level(2, '<a:buAutoNum type="alphaLcParenR"/>'))}
<p:txStyles><p:titleStyle>${level(1, "<a:buNone/>")}</p:titleStyle><p:bodyStyle>${[
  level(1, '<a:buAutoNum type="romanUcPeriod"/>'),
  level(2, SIGN),
  level(3, '<a:buAutoNum type="romanLcParenR"/>'),
].join(
  "",
)}</p:bodyStyle><p:otherStyle>${level(1, '<a:buAutoNum type="romanLcParenR"/>')}</p:otherStyle></p:txStyles></p:sldMaster>`;

/** A presentation with these slides. One without shapes has no part. */
function presentation(shapes: readonly string[]): Buffer {
  const parts = shapes.map((inner, at) => ({ name: `ppt/slides/s${at}.xml`, data: `<p:sld>${inner}</p:sld>` }));
  const ids = shapes.map((_, at) => `<p:sldId r:id="r${at}"/>`);
  const relations = shapes.map((_, at) => `<Relationship Id="r${at}" Type="${RELATION}" Target="slides/s${at}.xml"/>`);
  return zip([
    { name: "[Content_Types].xml", data: "<Types/>" },
    { name: "ppt/presentation.xml", data: `<p:presentation>${ids.join("")}</p:presentation>` },
    { name: "ppt/_rels/presentation.xml.rels", data: `<Relationships>${relations.join("")}</Relationships>` },
    ...parts.filter((_, at) => shapes[at] !== ""),
    ...shapes.map((_, at) => ({
      name: `ppt/slides/_rels/s${at}.xml.rels`,
      data: `<Relationships><Relationship Id="l" Type="${RELATION}/slideLayout" Target="../l.xml"/></Relationships>`,
    })),
    {
      name: "ppt/_rels/l.xml.rels",
      data: `<Relationships><Relationship Id="m" Type="${RELATION}/slideMaster" Target="m.xml"/></Relationships>`,
    },
    { name: "ppt/l.xml", data: LAYOUT },
    { name: "ppt/m.xml", data: MASTER },
  ]);
}

/** All cases, read by the first test that asks. */
let loaded: Promise<SmallContext> | undefined;

async function all(): Promise<SmallContext> {
  const files = SLIDES.map(({ shapes }, at) => [`${at}.pptx`, presentation([shapes])]);
  const cwd = folderWith(Object.fromEntries([...files, ["gap.pptx", presentation([SLIDES[0]?.shapes ?? "", ""])]]));
  return load({ kind: "path", path: "." }, { cwd, roots: [cwd] });
}

test.for(SLIDES.map((slide, at) => [slide.says, at, slide] as const))("%s", async ([, at, { text, lost = [] }]) => {
  loaded ??= all();
  const context = await loaded;
  const found = context.documents.find(({ id }) => id === `${at}.pptx`);
  const said = context.text.slice(found?.start ?? 0, found?.end ?? 0);
  expect(said.replace(/\n\n+/g, "\n")).toBe(`[slide 1]\n${text}`);
  expect((found?.lost ?? []).map(({ kind, where }) => `${kind}: ${where.join(" ")}`)).toEqual(lost);
});

test("slides without relations have the usual names", async () => {
  const cwd = folderWith({
    "bare.pptx": zip([
      { name: "[content_types].xml", data: "<Types/>" },
      { name: "ppt/presentation.xml", data: '<p:presentation><p:sldId r:id="r9"/></p:presentation>' },
      { name: "ppt/slides/slide1.xml", data: `<p:sld>${box(line("found"))}</p:sld>` },
    ]),
  });
  const { text } = await load({ kind: "path", path: "bare.pptx" }, { cwd, roots: [cwd] });
  expect(text.slice(0, text.length)).toBe("[slide 1]\nfound\n");
});

test("a slide whose part is not there is damaged", async () => {
  loaded ??= all();
  const found = (await loaded).documents.find(({ id }) => id === "gap.pptx");
  expect(found?.lost).toEqual([{ kind: "damaged part", count: 1, where: [2] }]);
  expect(found?.places?.map(([, label]) => label)).toEqual(["slide 1", "slide 2"]);
});
