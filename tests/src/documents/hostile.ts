import { constants, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { pdfOf, pdfWith, streamOf, tar, zip } from "./packed.ts";

// Originals that attack their readers. Each is small.

const MB = 2 ** 20;

/** A raw deflate stream of zeros: blocks of 64 MB that follow each other, then an empty last one. */
function zeros(bytes: number): Buffer {
  const block = deflateRawSync(Buffer.alloc(64 * MB), { finishFlush: constants.Z_SYNC_FLUSH });
  return Buffer.concat([...new Array<Buffer>(bytes / (64 * MB)).fill(block), Buffer.from("0300", "hex")]);
}

const GB = zeros(1024 * MB);
const bomb = { packed: GB, size: 1024 * MB, crc: 0 };
const docxWith = (document: string) =>
  zip([
    { name: "[Content_Types].xml", data: "<Types/>" },
    { name: "word/document.xml", data: document },
  ]);

function entities(): Buffer {
  const letters = [..."bcdefghij"];
  const doubled = letters.map((letter, n) => `<!ENTITY ${letter} "${`&${"abcdefghi"[n]};`.repeat(10)}">`);
  const all = `<!ENTITY a "${"A".repeat(1000)}">${doubled.join("")}<!ENTITY f SYSTEM "file:///etc/passwd">`;
  return docxWith(
    `<!DOCTYPE x [${all}]><w:document><w:body><w:p><w:r><w:t>start &j; &f; end</w:t></w:r></w:p></w:body></w:document>`,
  );
}

/** Forms that draw each other fifty times, twelve levels deep and round. */
function forms(): Buffer {
  const call = streamOf("/X Do ".repeat(50)).toString("latin1");
  const form = (next: number) =>
    Buffer.from(
      call.replace(">>", `/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X ${next} 0 R>>>>>>`),
      "latin1",
    );
  return pdfOf([
    "<</Type/Catalog/Pages 2 0 R>>",
    "<</Type/Pages/Kids[3 0 R]/Count 1>>",
    "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</XObject<</X 5 0 R>>>>>>",
    Buffer.from(call, "latin1"),
    ...Array.from({ length: 12 }, (_, n) => form(n < 11 ? n + 6 : 5)),
  ]);
}

function bombPdf(): Buffer {
  const once = Buffer.concat([Buffer.from("789c", "hex"), GB]);
  const twice = deflateSync(once);
  const head = `<</Length ${twice.length}/Filter[/FlateDecode/FlateDecode]>>\nstream\n`;
  return pdfWith([Buffer.concat([Buffer.from(head), twice, Buffer.from("\nendstream")])]);
}

function bombGzip(): Buffer {
  return Buffer.concat([Buffer.from("1f8b0800000000000003", "hex"), GB, Buffer.alloc(8)]);
}

/** A PDF whose password is not the empty one. */
function lockedPdf(): Buffer {
  const [id, hash] = ["<30313233>", `<${"00".repeat(32)}>`];
  const encrypt = `/Encrypt<</Filter/Standard/V 1/R 2/O${hash}/U${hash}/P -4>>/ID[${id}${id}]`;
  const open = pdfWith([streamOf("BT ET")]).toString("latin1");
  return Buffer.from(open.replace("/Root 1 0 R", `/Root 1 0 R${encrypt}`), "latin1");
}

function nestedGzip(): Buffer {
  let packed = Buffer.from("core");
  for (let n = 0; n < 20; n++) packed = gzipSync(packed);
  return packed;
}

function nestedMail(): string {
  const parts = Array.from(
    { length: 5000 },
    (_, n) => `--b${n}\r\nContent-Type: multipart/mixed; boundary=b${n + 1}\r\n\r\n`,
  );
  return `Content-Type: multipart/mixed; boundary=b0\r\n\r\n${parts.join("")}`;
}

/** A row at every ten thousandth place, with its only value in the last column. */
function farRows(): Buffer {
  const rows = Array.from({ length: 100 }, (_, n) => `<row r="${(n + 1) * 10_000}"><c r="XFD${n}"><v>1</v></c></row>`);
  const relation =
    '<Relationships><Relationship Id="r1" Type="x/worksheet" Target="worksheets/sheet1.xml"/></Relationships>';
  return zip([
    { name: "[Content_Types].xml", data: "<Types/>" },
    { name: "xl/workbook.xml", data: '<workbook><sheets><sheet name="S" r:id="r1"/></sheets></workbook>' },
    { name: "xl/_rels/workbook.xml.rels", data: relation },
    { name: "xl/worksheets/sheet1.xml", data: `<worksheet><sheetData>${rows.join("")}</sheetData></worksheet>` },
  ]);
}

/** Rows that say that they go on for ever, and have nothing. */
function wideRows(): Buffer {
  const cell = '<table:table-cell table:number-columns-repeated="1e308"/>';
  const row = `<table:table-row table:number-rows-repeated="1e308">${cell}</table:table-row>`;
  const content = `<office:body><table:table table:name="T">${row.repeat(50_000)}</table:table></office:body>`;
  return zip([
    { name: "mimetype", data: "application/vnd.oasis.opendocument.spreadsheet" },
    { name: "content.xml", data: content },
  ]);
}

/** Counts of a billion, styles that are above themselves, long labels, and an object that is shown again and again. */
function countsOdt(): Buffer {
  const level = `<text:list-level-style-number text:level="1" style:num-format="1" text:start-value="1e999" loext:num-list-format="${"%1%.".repeat(100_000)}"/>`;
  const style = '<style:style style:name="S" style:family="text" style:parent-style-name="S"/>';
  const cell = '<table:table-cell table:number-columns-repeated="1000000000"><text:p>x</text:p></table:table-cell>';
  const body = [
    `<text:list text:style-name="L">${"<text:list-item><text:p>a</text:p></text:list-item>".repeat(1000)}</text:list>`,
    `<text:p><text:span text:style-name="S">b</text:span>${'<text:s text:c="1000000000"/>'.repeat(1000)}</text:p>`,
    `<table:table><table:table-row table:number-rows-repeated="1000000000">${cell}</table:table-row></table:table>`,
    `<text:p>${'<draw:object xlink:href="F"/>'.repeat(10_000)}</text:p>`,
  ];
  const styles = `<office:automatic-styles><text:list-style style:name="L">${level}</text:list-style>${style}</office:automatic-styles>`;
  return zip([
    { name: "mimetype", data: "application/vnd.oasis.opendocument.text" },
    { name: "content.xml", data: `<office:document-content>${styles}${body.join("")}</office:document-content>` },
    { name: "F/content.xml", data: `<math>${"<mi>x</mi>".repeat(1000)}</math>` },
  ]);
}

/** A cell of a megabyte that is repeated to more than a string can hold. */
function longRow(): Buffer {
  const cell = `<table:table-cell table:number-columns-repeated="1000"><text:p>${"x".repeat(MB)}</text:p></table:table-cell>`;
  const content = `<office:body><table:table><table:table-row>${cell}</table:table-row></table:table></office:body>`;
  return zip([
    { name: "mimetype", data: "application/vnd.oasis.opendocument.text" },
    { name: "content.xml", data: content },
  ]);
}

/** Originals that are refused, and the predicate of the sentence that says why. */
export const REFUSED: Readonly<Record<string, readonly [make: () => string | Uint8Array, why: RegExp]>> = {
  "bomb.pdf": [bombPdf, /^(is damaged: no page of it can be read$|took (more than 1 GB|longer than 1\d s))/],
  "bomb.gz": [bombGzip, /^unpacks to more than 400 MB$/],
  "bomb.zip": [() => zip([{ name: "a.txt", ...bomb }]), /^unpacks to more than 100 MB$/],
  "lying.zip": [() => zip([{ name: "a.txt", ...bomb, size: 10 }]), /^unpacks to more than 100 MB$/],
  "overlap.zip": [
    () =>
      zip([{ name: "0", ...bomb }, ...Array.from({ length: 500 }, (_, n) => ({ name: `${n + 1}`, ...bomb, at: 0 }))]),
    /^is damaged: its members overlap$/,
  ],
  "many.zip": [
    () => zip(Array.from({ length: 20_000 }, (_, n) => ({ name: `${n}.txt`, data: "x" }))),
    /^unpacks to more than 10,000 members$/,
  ],
  "bomb.docx": [
    () =>
      zip([
        { name: "[Content_Types].xml", data: "<Types/>" },
        { name: "word/document.xml", ...bomb },
      ]),
    /^unpacks to more than 100 MB$/,
  ],
  "deep.docx": [() => docxWith(`<w:document><w:body>${"<w:tbl><w:tr><w:tc>".repeat(300_000)}`), /5,000 deep$/],
  "deep.html": [() => "<div>".repeat(1_000_000), /5,000 deep$/],
  "wide.ods": [wideRows, /^has no text$/],
  "long.odt": [longRow, /^has more than 511 MB of text$/],
  "forms.pdf": [forms, /^is damaged: no page of it can be read$/],
  "pages.pdf": [
    () => pdfOf(["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[2 0 R 2 0 R]/Count 1000000000>>"]),
    /^is damaged: no page of it can be read$/,
  ],
  "nest.eml": [nestedMail, /^is damaged: .*nesting/],
  "locked.pdf": [lockedPdf, /^is encrypted: it needs a password$/],
  "locked.odt": [
    () =>
      zip([
        { name: "mimetype", data: "application/vnd.oasis.opendocument.text" },
        { name: "META-INF/manifest.xml", data: "<manifest:encryption-data/>" },
      ]),
    /^is encrypted: it needs a password$/,
  ],
  "locked.docx": [
    () => Buffer.concat([Buffer.from("d0cf11e0a1b11ae1", "hex"), Buffer.from("EncryptedPackage", "utf16le")]),
    /^is encrypted: it needs a password$/,
  ],
  "half.pdf": [() => pdfWith([streamOf("BT ET")]).subarray(0, 60), /^is damaged: it is not a whole PDF$/],
  "empty.pdf": [() => Buffer.alloc(0), /^is damaged: it is not a whole PDF$/],
  "empty.xlsx": [() => Buffer.alloc(0), /^is damaged: its directory/],
  "garbage.docx": [
    () => Buffer.concat([Buffer.from("PK\x03\x04"), Buffer.alloc(2000, 7)]),
    /^is damaged: its directory/,
  ],
  "garbage.db": [
    () => Buffer.concat([Buffer.from("SQLite format 3\0"), Buffer.alloc(4000, 7)]),
    /^is damaged: SQLite says/,
  ],
  "matryoshka.gz": [nestedGzip, /^an archive in an archive$/],
  "old.doc": [
    () => Buffer.from("d0cf11e0a1b11ae10000", "hex"),
    /^is an Office file of before 2007, which `soffice --convert-to` converts$/,
  ],
  "letter.rtf": [() => "{\\rtf1 hello}", /^is an RTF file, which `soffice --convert-to docx` converts$/],
};

/** Originals of which something is loaded, and documents and skipped members that come of them. */
export const TAMED: Readonly<
  Record<string, readonly [make: () => string | Uint8Array, loaded: readonly string[], skipped: readonly string[]]>
> = {
  "entities.docx": [entities, ["entities.docx"], []],
  "counts.odt": [countsOdt, ["counts.odt"], []],
  "rows.xlsx": [farRows, ["rows.xlsx"], []],
  "operators.pdf": [
    () => pdfWith([streamOf(`BT /F 1 Tf ${"(a) Tj 0 1 Td ".repeat(300_000)}ET`)]),
    ["operators.pdf"],
    [],
  ],
  "attributes.html": [
    () => `<p ${Array.from({ length: 100_000 }, (_, n) => `a${n}=1`).join(" ")}>x</p>`,
    ["attributes.html"],
    [],
  ],
  "names.zip": [
    () =>
      zip([
        ...[
          "../up.txt",
          "/etc/cron.d/x",
          "C:/a.txt",
          "a\\b.txt",
          "a\u0007b.txt",
          "in/../../x",
          ".git/config",
          "sub/.git/x",
        ].map((name) => ({ name, data: "evil" })),
        { name: "crc.txt", data: "text", crc: 1 },
        { name: "locked.txt", data: "text", flag: 1 },
        { name: "inner.zip", data: zip([{ name: "a.txt", data: "a" }]) },
        { name: "binary.bin", data: "\0" },
        { name: "left.log", data: "ignored" },
        { name: ".gitignore", data: "*.log\n" },
        { name: "big/.gitignore", data: "good.txt\n".repeat(30_000) },
        { name: "torn/.gitignore", data: "*", crc: 1 },
        ...[".env", "conf/.claude/settings.json", "tls/a.pem"].map((name) => ({ name, data: "TOKEN=1" })),
        { name: "good.txt", data: "good" },
      ]),
    ["names.zip/.gitignore", "names.zip/big/.gitignore", "names.zip/good.txt"],
    [
      "names.zip/../up.txt: a name that leads out of the archive",
      "names.zip/.env: may contain secrets",
      "names.zip//etc/cron.d/x: a name that leads out of the archive",
      "names.zip/C:/a.txt: a name that leads out of the archive",
      "names.zip/a b.txt: a name that leads out of the archive",
      "names.zip/a\\b.txt: a name that leads out of the archive",
      "names.zip/big/.gitignore: its rules are not applied: larger than 256 KB",
      "names.zip/binary.bin: binary (NUL in the first 8 KB)",
      "names.zip/conf/.claude/settings.json: may contain secrets",
      "names.zip/crc.txt: is damaged: its checksum is wrong",
      "names.zip/in/../../x: a name that leads out of the archive",
      "names.zip/inner.zip: an archive in an archive",
      "names.zip/locked.txt: is encrypted: it needs a password",
      "names.zip/tls/a.pem: may contain secrets",
      "names.zip/torn/.gitignore: is damaged: its checksum is wrong",
      "names.zip/torn/.gitignore: its rules are not applied: it is damaged: its checksum is wrong",
    ],
  ],
  "links.tar": [
    () =>
      tar([
        { name: "to-passwd", type: "2" },
        { name: "../up.txt", data: "evil" },
        { name: "a.txt", data: "a" },
      ]),
    ["links.tar/a.txt"],
    ["links.tar/../up.txt: a name that leads out of the archive", "links.tar/to-passwd: a link or a special file"],
  ],
};
