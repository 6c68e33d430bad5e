import { getDocumentProxy } from "unpdf";
import type { Growing } from "./growing.ts";
import { damaged, encrypted } from "./zip.ts";

/** An item of a page as pdfjs gives it. `transform` has the size of the font in its first two numbers, and the place in its last two. */
interface Item {
  readonly str: string;
  readonly dir: string;
  readonly transform: readonly number[];
  readonly width: number;
  readonly height: number;
  readonly hasEOL: boolean;
}

/** Reads the pages of a PDF in the order of the file, each as lines. @throws Unreadable */
export async function readPdf(bytes: Uint8Array, text: Growing, progress: (place: string) => void): Promise<void> {
  const pdf = await opened(bytes);
  for (let number = 1; number <= pdf.numPages; number++) {
    if (number % 20 === 0) progress(`p.${number}`);
    text.part(`p.${number}`);
    const lines = await textOfPage(pdf, number).catch(() => null);
    if (lines === null) text.lose("damaged page", number);
    else if (lines.trim() === "") text.lose("page without text", number);
    else text.add(`${lines}\n`);
  }
  await loseSilent(pdf, text);
}

/** Counts what is not on the pages: attached files, and the fields of a form, which the user may have filled in. */
async function loseSilent(pdf: Pdf, text: Growing): Promise<void> {
  const [attached, fields] = [
    await pdf.getAttachments().catch(() => null),
    await pdf.getFieldObjects().catch(() => null),
  ];
  for (const name of attached?.keys() ?? []) text.lose("attachment", String(name));
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

async function textOfPage(pdf: Pdf, number: number): Promise<string> {
  const page = await pdf.getPage(number);
  const { items } = await page.getTextContent({ includeMarkedContent: false });
  page.cleanup();
  const lines = linesOf(items.filter((item) => "str" in item));
  // Ligatures and the forms of Arabic letters become letters: otherwise no search finds them.
  return lines.replace(/[\ufb00-\ufdff\ufe70-\ufefc]/g, (form) => form.normalize("NFKC"));
}

/** An item that was written, and where it ends. */
interface Written {
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly end: number;
}

/** Puts items together by their positions: a line ends where the baseline moves, and a gap becomes a space or a tab. */
function linesOf(items: readonly Item[]): string {
  const pieces: string[] = [];
  // The last characters stand apart: to ask a long text for them would copy it each time.
  let tail = "";
  const add = (piece: string) => {
    pieces.push(piece);
    tail = (tail + piece.slice(-2)).slice(-2);
  };
  let last: Written | null = null;
  for (const { str, dir, transform, width, height, hasEOL } of items) {
    const [a = 0, b = 0, , , x = 0, y = 0] = transform;
    const size = Math.hypot(a, b) || height || 1;
    if (str !== "") {
      const next: Written = { x, y, size, end: x + width };
      if (last) add(between(tail, last, next, { str, isLeft: dir === "rtl" }));
      last = next;
    }
    add(str);
    if (hasEOL && !tail.endsWith("\n")) add("\n");
  }
  const lines = pieces.join("").split("\n");
  return lines
    .map((line) => line.trimEnd())
    .join("\n")
    .trimEnd();
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
    const isParagraph = down > 1.9 * larger && tail !== "\n\n";
    return `${isFresh ? "" : "\n"}${isParagraph ? "\n" : ""}`;
  }
  const gap = isLeft ? 0 : x - last.end;
  if (gap > 2.5 * size && !isFresh) return "\t";
  return gap > 0.15 * size && !/\s$/.test(tail) && !/^\s/.test(str) ? " " : "";
}
