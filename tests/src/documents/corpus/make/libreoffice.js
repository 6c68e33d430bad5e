// Inputs that LibreOffice writes: the package @matbee/libreoffice-converter 2.7.2 (250 MB) must stand in the folder that is named.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { write } from "./write.js";

const SUPPLY = `<html><head><meta charset="utf-8"><title>Supply</title></head><body>
<h1>Supply contract</h1>
<ol><li>Goods<ol type="a"><li>Bolts of steel</li><li>Nuts</li></ol></li>
<li>Price<ol type="a"><li>It is 4,217<sup>1</sup> euros.</li></ol></li></ol>
<p>10<sup>6</sup> bolts weigh 12 m<sup>3</sup>; the 1<sup>st</sup> lot is CO<sub>2</sub> free.</p>
<ul><li>cheap</li><li>loud<ul><li>in May</li></ul></li></ul>
<table border="1"><tr><th>Region</th><th>May</th><th>June</th><th>July</th></tr>
<tr><td>North</td><td colspan="2">n/a</td><td>33</td></tr>
<tr><td rowspan="2">South</td><td>1</td><td>2</td><td>3</td></tr><tr><td>4</td><td>5</td><td>6</td></tr></table>
<p>Größe, Søren, 東京.</p></body></html>`;

/** Inputs of other writers, and the kinds in which LibreOffice saves them. */
const SAVED = {
  "lease.docx": ["odt", "docx", "pdf", "rtf", "doc"],
  "study.docx": ["odt", "pdf"],
  "budget.docx": ["odt"],
  "draft.docx": ["odt"],
  "formula.docx": ["odt"],
  "statutes.docx": ["odt"],
  "timesheet.xlsx": ["ods", "xlsx", "xls"],
  "prices.xlsx": ["ods"],
  "pitch.pptx": ["odp", "pptx"],
  "review.pptx": ["odp"],
};

const [folder = "."] = process.argv.slice(2);
const server = createRequire(join(folder, "package.json")).resolve("@matbee/libreoffice-converter/server");
const { createWorkerConverter } = await import(pathToFileURL(server).href);
const office = await createWorkerConverter();
const save = async (bytes, name, kind) => {
  const { data } = await office.convert(bytes, { outputFormat: kind }, name);
  write(`${name.slice(0, -extname(name).length)}-libreoffice.${kind}`, data);
};
for (const kind of ["odt", "docx"]) await save(Buffer.from(SUPPLY), "supply.html", kind);
for (const [name, kinds] of Object.entries(SAVED)) {
  const bytes = readFileSync(new URL(`../files/${name}`, import.meta.url));
  for (const kind of kinds) await save(bytes, name, kind);
}
await office.destroy();
process.exit(0);
