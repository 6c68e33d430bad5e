// node readers.js ENGINE FROM TO: writes what an engine makes of each file in FROM into TO, as HTML.
import { readdirSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";

/** By engine: the kinds that it reads, and the HTML that it makes of a file. HTML keeps what is raised, and tables. */
const ENGINES = {
  officeparser: {
    kinds: [".docx", ".odt", ".pptx", ".odp", ".xlsx", ".ods", ".html", ".epub", ".pdf"],
    async read(path) {
      const { parseOffice } = await import("officeparser");
      const { value } = await (await parseOffice(path)).to("html");
      // Numbers of rows and letters of columns are no text of a sheet.
      return String(value).replace(/<td class="excel-row-num">\d+<\/td>|<thead>.*?excel-col-header.*?<\/thead>/g, "");
    },
  },
  mammoth: {
    kinds: [".docx"],
    async read(path) {
      const { value } = await (await import("mammoth")).convertToHtml({ path });
      return `<!doctype html><meta charset="utf-8"><body>${value}</body>`;
    },
  },
};

const [engine, from, to] = process.argv.slice(2);
const { kinds, read } = ENGINES[engine];
for (const name of readdirSync(from)) {
  if (!kinds.includes(extname(name))) continue;
  try {
    writeFileSync(join(to, `${name}.html`), await read(join(from, name)));
  } catch (error) {
    console.error(`${name}: ${error}`);
  }
}
process.exit(0);
