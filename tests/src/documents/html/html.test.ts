import { expect, test } from "vitest";
import { growing } from "../../../../src/documents/growing.ts";
import { readHtml } from "../../../../src/documents/html/html.ts";

/** The text of a page without empty lines, and the kinds of its losses. */
function read(source: string) {
  const text = growing(1e6);
  text.add("-----\n");
  readHtml(source, text);
  const { text: all, lost } = text.end();
  const lines = all.split("\n").filter((line) => line !== "");
  return { lines: lines.slice(1), lost: lost.map(({ kind }) => kind) };
}

const shown = (source: string) => read(source).lines;

test.each([
  [
    "<ol start=5 type=a><li>five<li value=9>nine<ol type=I><li>in<li>in</ol><li>ten</ol>",
    "e. five,i. nine,  I. in,  II. in,j. ten",
  ],
  ["<ol reversed><li>a<li>b<ul reversed><li>x</ul><li>c</ol>", "3. a,2. b,  - x,1. c"],
  ["<p hidden><ol reversed><li></ol></p><ol><li>x</ol><ol reversed start=9><li>a<li>b</ol>", "1. x,9. a,8. b"],
  ["<ol style='list-style-type: lower-roman' start=-1><li>a<li>b<li>c</ol>", "-1. a,0. b,i. c"],
  ["<ol style='list-style: none'><li>a</ol><ol start=99999999999999999999><li>a</ol>", "- a,2147483647. a"],
  [
    "<ol style='list-style:inside lower-roman !important'><li>a</ol><ol style='list-style: url(a.png) UPPER-ALPHA;'><li>b</ol>",
    "i. a,A. b",
  ],
  ["<ol><li><h3>Scope</h3><p>words<li><ol type=A><li>deep</ol></ol>", "### 1. Scope,words,2. A. deep"],
  ["<menu><li>a</menu><li>b", "- a,- b"],
])("%s has the labels that a browser shows", (source, lines) => {
  expect(shown(source).join(",")).toBe(lines);
});

test("numbers in a form that is not known are decimal, and told", () => {
  expect(read("<ol style='list-style-type: lower-greek'><li>a</ol>")).toEqual({
    lines: ["1. a"],
    lost: ["list number"],
  });
  expect(read("<ol style='list-style: inside lower-greek'><li>a</ol>").lost).toEqual(["list number"]);
  expect(read("<ol style='list-style: inside'><li>a</ol><ul style='list-style: url(a.png)'><li>b</ul>").lost).toEqual(
    [],
  );
});

test("raised and lowered words do not become a part of the number before them", () => {
  expect(
    shown("10<sup>6</sup> 4,217<sup><a>1</a></sup> 1<sup>st</sup> CO<sub>2</sub> 7<sub>2</sub> a<sup>[3]</sup>"),
  ).toEqual(["10^6 4,217^1 1st CO2 7_2 a[3]"]);
  expect(shown("<pre>2<sup>8</sup></pre>")).toEqual(["2^8"]);
});

test.each([
  ["<tr><td>North<td colspan=2>n/a<td>33", ["North | n/a |  | 33"]],
  ["<tr><td rowspan=2>a<td>b<td>c<tr><td>d<td>e", ["a | b | c", " | d | e"]],
  ["<tr><td>1<td rowspan=2>2<tr><td>3", ["1 | 2", "3 | "]],
  ["<tbody><tr><td>a<td rowspan=9>all<tr><td>b<tbody><tr><td>c<td>d", ["a | all", "b | ", "c | d"]],
  ["<tr><th colspan=99>Title<tr><td>a<td>b", ["Title | ", "a | b"]],
  ["<tr><td colspan='x' rowspan=-1>a<td>b<tr><td>c<td>d", ["a | b", "c | d"]],
  ["<td>no<td>row", ["no | row"]],
  ["<tr><td><p>x<td>y<tr><td>z", ["x | y", "z"]],
  ["<tr><td>k<td><ul><li>a<li>b</ul>", ["k | - a - b"]],
  ["<tr><td><pre>a\n  b</pre><td>c<br>d", ["a b | c d"]],
  ["<tr><td>out<table><tr><td>in<td>side</table>more<td>right", ["out", "in | side", "more | right"]],
  ["<tr><td>a<td>out<table><tr><td>in</table><td>right", ["a | out", "in", " |  | right"]],
  ["<caption>Cap</caption><tr><td>a<td>b", ["Cap", "a | b"]],
])("the nth cell of %s is the nth column", (rows, lines) => {
  expect(shown(`<table>${rows}</table>`)).toEqual(lines);
});

test("a table that parts blocks and not columns keeps their lines", () => {
  const page = "<tr><td></td><td><h1>Letter</h1><p>Dear you,<br>thanks.<ul><li>a</ul></td><td></td></tr>";
  expect(shown(`<table>${page}</table>`)).toEqual(["# Letter", "Dear you,", "thanks.", "- a"]);
});

test("fields show what a person sees in them", () => {
  const form = `<input type=checkbox checked>Yes<input type=RADIO>No Name:<input value=Bob><input type=hidden value=token>
    <input type=password value=secret><select><option>One<option selected>Two</select><select><option>First<option>Second</select>
    <select multiple><option>A<option>B</select><button>Save</button><button>Stop</button><input type=submit value=Send>`;
  expect(read(form)).toEqual({ lines: ["[x] Yes [ ] No Name: Bob Two First A B Save Stop Send"], lost: [] });
  expect(shown("<textarea>\nmy <b>\n text</textarea>after")).toEqual(["my <b>", " text", "after"]);
});

test("words that nobody sees are left out, and others are told", () => {
  const silent =
    "<script>no</script><style>no</style><template>no</template><noscript>no</noscript><!-- no --><![if x]>";
  expect(read(`${silent}a<rp>(</rp><wbr>b&shy;\u00ad&#xAD;&#173;c`)).toEqual({ lines: ["abc"], lost: [] });
  expect(read("a<span style='display: none'>no</span>b<i hidden><b>n</b>o</i><i hidden> </i>")).toEqual({
    lines: ["ab"],
    lost: ["hidden text"],
  });
  expect(read("<ruby>漢<rt>かん</rt>字<rt>じ</rt></ruby>")).toEqual({
    lines: ["漢字"],
    lost: ["reading of characters"],
  });
  for (const name of ["iframe", "object", "canvas", "video", "audio"]) {
    expect(read(`a<${name}>no</${name}>b`)).toEqual({ lines: ["a b"], lost: ["embedded object"] });
  }
});

test("words of drawings are read", () => {
  const drawing =
    "<title>no</title><text>one</text><text>two<tspan dy=1>lines</tspan></text><foreignObject><p>box</foreignObject>";
  expect(read(`<svg>${drawing}</svg>`)).toEqual({ lines: ["one", "two lines", "box"], lost: [] });
});

test.each([
  ["<mi>E</mi> <mo>=</mo>\n<mi>m</mi><msup><mi>c</mi><mn>2</mn></msup>", "E=mc^(2)"],
  ["<mfrac><mn>1</mn><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow></mfrac>", "(1)/(a+b)"],
  ["<munderover><mo>∑</mo><mn>1</mn><mi>n</mi></munderover><msub><mi>x</mi><mi>i</mi></msub>", "∑_(1)^(n)x_(i)"],
  ["<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt><mroot><mi>y</mi><mn>3</mn></mroot>", "√(x+1)(y)^(1/(3))"],
  [
    "<mfenced open='['><mi>a</mi><mi>b</mi><mi>c</mi></mfenced><mtext> if </mtext><mi>f</mi><mo>\u2061</mo><mi>x</mi>",
    "[a,b,c) if fx",
  ],
])("the equation %s is the line %s, without its source", (mathml, line) => {
  const source = `<semantics><mrow>${mathml}</mrow><annotation encoding="application/x-tex">no</annotation></semantics>`;
  expect(read(`so <math>${source}</math>.`)).toEqual({ lines: [`so ${line}.`], lost: [] });
});

test("a matrix does not fit a line", () => {
  const rows = "<mtr><mtd>1</mtd><mtd>0</mtd></mtr><mtr><mtd>0</mtd><mtd>1</mtd></mtr>";
  expect(read(`<math><mtable>${rows}</mtable></math>`)).toEqual({ lines: ["1 0; 0 1"], lost: ["equation"] });
});

test("raw text, closed details, lists of terms and quotes are read", () => {
  expect(shown("<details><summary>Sum</summary>body</details><dl><dt>term<dd>means</dl><q>said</q>")).toEqual([
    "Sum",
    "body",
    "term",
    "means",
    "“said”",
  ]);
  expect(shown("<fieldset><legend>Leg</legend>in</fieldset><xmp><b>x</b></xmp><plaintext><i>")).toEqual([
    "Leg",
    "in",
    "<b>x</b>",
    "<i>",
  ]);
});

test("spans, marks and options of a hostile page take linear time", () => {
  const n = 20_000;
  const wide = `<table>${"<tr><td colspan=1000 rowspan=65534>".repeat(n)}x</table>`;
  const all = `${wide}${"<sup>1</sup>2".repeat(n)}<select>${"<option selected>x".repeat(n)}</select>${"<ol reversed><li>".repeat(900)}`;
  expect(shown(all).length).toBeGreaterThan(0);
});

test.each(["constructor", "toString", "valueOf"])("a page may name %s as it likes", (name) => {
  const page = `<${name}>a</${name}><ol type=${name} style="list-style:${name}"><li>b</ol><math><${name}><mi>c</mi></${name}></math>`;
  expect(shown(page).join(",")).toMatch(/^a,1\. b,\s*c$/);
});
