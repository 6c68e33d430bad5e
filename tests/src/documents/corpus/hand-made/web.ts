import { zip } from "../../packed.ts";

// Pages, books and notebooks as browsers show them.

const PAGE = (head: string, body: string) => `<!doctype html><html><head>${head}</head><body>${body}</body></html>`;

/** Digits that a style raises, and items that a style sheet letters. */
const styled = () =>
  Buffer.from(
    PAGE(
      '<meta charset="utf-8"><style>ul { list-style: none } ol.terms > li { margin: 0; list-style-type: lower-alpha }</style>',
      [
        '<p>10<span style="font-size:60%; vertical-align: super">6</span> of CO<span style="vertical-align:sub">2</span>',
        ' on the 1<span style="vertical-align:super">st</span></p><ol class="terms"><li>first</li></ol>',
      ].join(""),
    ),
  );

/** Lists with numbers of their own, fields of a form, what is hidden. */
const lists = () =>
  Buffer.from(
    PAGE(
      '<meta charset="utf-8"><title>Lists</title>',
      [
        '<ol start="5" type="a"><li>five</li><li>six</li></ol>',
        '<ol type="I"><li>one</li><li value="9">nine</li><li>ten</li></ol>',
        "<ol reversed><li>three</li><li>two</li><li>one last</li></ol>",
        "<ol><li>outer<ol><li>inner</li></ol></li><li>outer two</li></ol>",
        "<ul><li>dot<ul><li>deep</li></ul></li></ul>",
        '<form><input type="checkbox" checked> yes <input type="checkbox"> no <input type="radio" name="r" checked> red',
        '<input type="text" value="typed words"><input type="hidden" value="unseen"><input type="password" value="geheim">',
        "<textarea>long\nanswer</textarea><select><option>north<option selected>south</select></form>",
        "<p>10<sup>6</sup>, 4,217<sup>1</sup>, the 1<sup>st</sup>, 3<sup>rd</sup> and CO<sub>2</sub></p>",
        '<table><tr><td>North</td><td colspan="2">n/a</td><td>33</td></tr><tr><td rowspan="2">South</td><td>1</td><td>2</td><td>3</td></tr><tr><td>4</td><td>5</td><td>6</td></tr></table>',
        "<p><ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>です</p>",
        "<details><summary>More</summary>Folded words</details><template>not shown</template><noscript>Turn it on</noscript>",
        "<p hidden>not seen</p><p>a&nbsp;b &amp; c &#x20AC;</p><pre>  keep\n    this</pre><script>var no = 1</script>",
      ].join("\n"),
    ),
  );

const late = () =>
  Buffer.from(
    PAGE(
      `<style>/* ${"x".repeat(3000)} */</style><script src="a.js" charset="utf-8"></script><meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"><title>L</title>`,
      "<p>Caf\u00e9 au lait</p>",
    ),
    "latin1",
  );
const wrong = () =>
  Buffer.from(
    PAGE('<meta charset="utf-8">', "<p>Stra\u00dfe 12 \u2014 caf\u00e9</p>".replace("\u2014", "-")),
    "latin1",
  );
const big = () => Buffer.from(`\ufeff${PAGE("", "<p>Größe und Maß</p>")}`, "utf16le").swap16();
const sjis = () =>
  Buffer.concat([
    Buffer.from('<html><head><meta charset="Shift_JIS"></head><body><p>'),
    Buffer.from([0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea]),
    Buffer.from("</p></body></html>"),
  ]);

/** A book whose package uses a prefix, with a chapter that names are encoded of, and one beside the reading order. */
function book(): Buffer {
  const chapter = (title: string, body: string) =>
    `<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><head><title>${title}</title></head><body>${body}</body></html>`;
  return zip([
    { name: "mimetype", data: "application/epub+zip" },
    {
      name: "META-INF/container.xml",
      data: '<c:container xmlns:c="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><c:rootfiles><c:rootfile full-path="a/book.opf" media-type="application/oebps-package+xml"/></c:rootfiles></c:container>',
    },
    {
      name: "a/book.opf",
      data: '<opf:package xmlns:opf="http://www.idpf.org/2007/opf" version="3.0"><opf:manifest><opf:item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/><opf:item id="two" href="ch%20two.xhtml" media-type="application/xhtml+xml"/><opf:item id="one" href="one.xhtml" media-type="application/xhtml+xml"/></opf:manifest><opf:spine><opf:itemref idref="one"/><opf:itemref idref="two"/></opf:spine></opf:package>',
    },
    { name: "a/nav.xhtml", data: chapter("Nav", "<nav><ol><li>One</li></ol></nav>") },
    {
      name: "a/one.xhtml",
      data: chapter(
        "One",
        '<h1>One</h1><p>Begin<a epub:type="noteref" href="#n1"><sup>1</sup></a> here.</p><ol start="4"><li>four</li></ol><aside epub:type="footnote" id="n1"><p>Said at the foot.</p></aside>',
      ),
    },
    { name: "a/ch two.xhtml", data: chapter("Two", "<p>The end of 10<sup>6</sup> words.</p>") },
  ]);
}

/** A notebook that a shell has written, in the encoding of its system. */
const wide = () => {
  const cell = { cell_type: "markdown", source: "Größe" };
  return Buffer.from(`\ufeff${JSON.stringify({ nbformat: 4, cells: [cell] })}`, "utf16le");
};

export const WEB: Readonly<Record<string, () => Buffer>> = {
  ...{
    "lists.html": lists,
    "styled.html": styled,
    "late-charset.html": late,
    "wrong-charset.html": wrong,
    "utf16be.html": big,
  },
  "scripted.html": () =>
    Buffer.from(PAGE('<script src="app.js"></script>', '<div id="root"></div><noscript>Turn it on</noscript>')),
  ...{ "sjis.html": sjis, "prefixed.epub": book, "wide.ipynb": wide },
};
