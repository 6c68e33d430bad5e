import { getDocumentProxy } from "unpdf";
import { damaged, encrypted, type Growing } from "../growing.ts";
import { type Annotation, KINDS, notesOf } from "./notes.ts";
import { textOfPage } from "./page.ts";

/** Characters of fonts that do not say what their signs mean: control characters, replacements and private ones. */
const WITHOUT_MEANING = /[^\P{Cc}\s]|(?!\uf0b7)[\p{Co}\ufffd]/gu;

/** Reads the pages of a PDF in the order of the file, each as lines, fields and notes. @throws Unreadable */
export async function readPdf(bytes: Uint8Array, text: Growing): Promise<void> {
  const pdf = await opened(bytes);
  const annotations = await annotationsOf(pdf, text);
  for (let number = 1; number <= pdf.numPages; number++) {
    text.part(`p.${number}`);
    const items = await itemsOf(pdf, number).catch(() => null);
    if (items === null) text.lose("damaged page", number);
    else {
      const notes = notesOf(annotations.get(number) ?? [], text);
      const parts = [textOfPage(items), ...notes].filter((part) => part !== "");
      if (parts.length === 0) text.lose("page without text", number);
      for (const part of parts) text.add(`${part}\n`);
      for (const { str } of items)
        for (const _ of str.matchAll(WITHOUT_MEANING)) text.lose("character without a meaning", number);
    }
  }
  await loseOthers(pdf, text);
}

/** Loses what a PDF has beside the text of its pages. */
async function loseOthers(pdf: Pdf, text: Growing): Promise<void> {
  for (const name of (await pdf.getAttachments().catch(() => null))?.keys() ?? [])
    text.lose("attachment", String(name));
  const fields: object = (await pdf.getFieldObjects().catch(() => null)) ?? {};
  for (const { name, page, value } of Object.values(fields).flat()) {
    // Those on a page are among its annotations.
    if (page === -1 && value) text.lose("form field", name);
  }
  const layers = await pdf.getOptionalContentConfig().catch(() => []);
  for (const [, { name, visible }] of layers) if (!visible) text.lose("hidden layer", name);
  const about = await pdf.getMetadata().catch(() => null);
  const { IsXFAPresent, IsAcroFormPresent }: Readonly<Record<string, unknown>> = { ...about?.info };
  if (IsXFAPresent === true && IsAcroFormPresent === false) text.lose("XFA form");
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

/** The annotations of all pages that are not damaged, by the number of the page. */
async function annotationsOf(pdf: Pdf, text: Growing): Promise<Map<number, Annotation[]>> {
  const damaged = new Set<number>();
  for (let index = 0; index < pdf.numPages; index++) await pdf.getPage(index + 1).catch(() => damaged.add(index));
  const found: Annotation[] | null = await pdf.getAnnotationsByType(new Set(KINDS), damaged).catch(() => null);
  if (found === null) text.lose("annotation");
  return Map.groupBy(found ?? [], ({ pageIndex = 0 }) => pageIndex + 1);
}
