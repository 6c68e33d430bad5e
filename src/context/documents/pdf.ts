import { getDocumentProxy } from "unpdf";
import { damaged, encrypted, type Growing } from "./growing.ts";
import { textOfPage } from "./page.ts";

/** Reads the pages of a PDF in the order of the file, each as lines. @throws Unreadable */
export async function readPdf(bytes: Uint8Array, text: Growing): Promise<void> {
  const pdf = await opened(bytes);
  for (let number = 1; number <= pdf.numPages; number++) {
    text.part(`p.${number}`);
    const lines = await itemsOf(pdf, number).then(textOfPage, () => null);
    if (lines === null) text.lose("damaged page", number);
    else if (lines.trim() === "") text.lose("page without text", number);
    else text.add(`${lines}\n`);
  }
  for (const name of (await pdf.getAttachments().catch(() => null))?.keys() ?? [])
    text.lose("attachment", String(name));
  const fields = await pdf.getFieldObjects().catch(() => null);
  for (const name of Object.keys(fields ?? {})) text.lose("form field", name);
}

type Pdf = Awaited<ReturnType<typeof opened>>;

async function opened(bytes: Uint8Array) {
  try {
    const options = { isEvalSupported: false, useSystemFonts: false, disableFontFace: true, verbosity: 0 };
    // It takes the bytes that it is given for its own.
    return await getDocumentProxy(new Uint8Array(bytes), options);
  } catch (error) {
    const isLocked = error instanceof Error && error.name === "PasswordException";
    throw isLocked ? encrypted() : damaged("it is not a whole PDF");
  }
}

async function itemsOf(pdf: Pdf, number: number) {
  const page = await pdf.getPage(number);
  const { items } = await page.getTextContent({ includeMarkedContent: false });
  page.cleanup();
  return items.filter((item) => "str" in item);
}
