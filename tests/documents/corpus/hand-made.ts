import { zip } from "../packed.ts";
import { PAGES } from "./pages.ts";

// Inputs that no writer at hand makes: their parts, word by word.

/** By the name of the input. */
export const HAND_MADE: Readonly<Record<string, () => Buffer>> = {
  ...PAGES,
  "bare.docx": () =>
    zip([
      { name: "[Content_Types].xml", data: "<Types/>" },
      {
        name: "word/document.xml",
        data: "<w:document><w:body><w:p><w:r><w:t>No relations at all</w:t></w:r></w:p></w:body></w:document>",
      },
    ]),
};
