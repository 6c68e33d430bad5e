import { zip } from "../packed.ts";
import { OPEN } from "./hand-made/open.ts";
import { PRINTED } from "./hand-made/printed.ts";
import { SHEETS } from "./hand-made/sheets.ts";
import { WEB } from "./hand-made/web.ts";
import { WORDS } from "./hand-made/words.ts";
import { PAGES } from "./pages.ts";

// Inputs that no writer at hand makes: their parts, word by word.

/** By the name of the input. */
export const HAND_MADE: Readonly<Record<string, () => Buffer>> = {
  ...{ ...PAGES, ...OPEN, ...PRINTED, ...SHEETS, ...WEB, ...WORDS },
  "bare.xlsx": () =>
    zip([
      { name: "[Content_Types].xml", data: "<Types/>" },
      { name: "xl/workbook.xml", data: '<workbook><sheets><sheet name="One"/><sheet name="Two"/></sheets></workbook>' },
      ...[1, 2].map((at) => ({
        name: `xl/worksheets/sheet${at}.xml`,
        data: `<worksheet><sheetData><row><c><v>${at}1</v></c></row></sheetData></worksheet>`,
      })),
    ]),
  "bare.docx": () =>
    zip([
      { name: "[Content_Types].xml", data: "<Types/>" },
      {
        name: "word/document.xml",
        data: "<w:document><w:body><w:p><w:r><w:t>No relations at all</w:t></w:r></w:p></w:body></w:document>",
      },
    ]),
};
