import { getDocumentProxy } from "unpdf";
import { damaged, encrypted, type Growing } from "./growing.ts";

/** Reads the pages of a PDF in the order of the file, each as lines. @throws Unreadable */
export async function readPdf(bytes: Uint8Array, text: Growing): Promise<void> {
  const pdf = await opened(bytes);
  for (let number = 1; number <= pdf.numPages; number++) {
    text.part(`p.${number}`);
    const lines = await itemsOf(pdf, number).then(linesOf, () => null);
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

/** An item that was written: its place, the size of its font, and where it ends. */
type Written = Readonly<Record<"x" | "y" | "size" | "end", number>>;

/** Puts items together by their positions: a line ends where the baseline moves, and a gap becomes a space or a tab. */
function linesOf(items: Awaited<ReturnType<typeof itemsOf>>): string {
  const pieces: string[] = [];
  let last: Written | null = null;
  for (const { str, dir, transform, width, height, hasEOL } of items) {
    // The size of the font, and the place.
    const [a = 0, b = 0, , , x = 0, y = 0] = transform;
    if (str !== "") {
      const next: Written = { x, y, size: Math.hypot(a, b) || height || 1, end: x + width };
      const tail = pieces.at(-1) ?? "";
      pieces.push(...(last ? [between(tail, last, next, { str, isLeft: dir === "rtl" })] : []), str);
      last = next;
    }
    if (hasEOL && !pieces.at(-1)?.endsWith("\n")) pieces.push("\n");
  }
  // Ligatures and the forms of Arabic letters become letters: otherwise no search finds them.
  const text = pieces.join("").replace(/[\ufb00-\ufdff\ufe70-\ufefc]/g, (form) => form.normalize("NFKC"));
  const lines = text.split("\n").map((line) => line.trimEnd());
  return lines.join("\n").trimEnd();
}

/** The distances are in sizes of the larger font; they were chosen by comparison with pdftotext. */
function between(
  tail: string,
  last: Written,
  { x, y, size }: Written,
  { str, isLeft }: { readonly str: string; readonly isLeft: boolean },
): string {
  const down = Math.abs(y - last.y);
  const larger = Math.max(size, last.size);
  const isFresh = tail.endsWith("\n");
  if (down > 0.5 * larger || (x < last.x - 2 * size && down > 0.1 * size)) {
    return `${isFresh ? "" : "\n"}${down > 1.9 * larger ? "\n" : ""}`;
  }
  const gap = isLeft ? 0 : x - last.end;
  if (gap > 2.5 * size && !isFresh) return "\t";
  return gap > 0.15 * size && !/\s$/.test(tail) && !/^\s/.test(str) ? " " : "";
}
