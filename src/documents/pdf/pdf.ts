import { getDocumentProxy } from "unpdf";
import { damaged, encrypted, type Growing, HIDDEN, withAuthor } from "../growing.ts";
import { textOfPage } from "./page.ts";

/**
 * Characters of fonts that do not say what their signs mean: control characters, replacements and
 * private ones.
 */
const WITHOUT_MEANING = /[^\P{Cc}\s]|(?!\uf0b7)[\p{Co}\ufffd]/gu;

/**
 * Reads the pages of a PDF in the order of the file, each as lines, fields and notes.
 *
 * @throws Unreadable
 */
export async function readPdf(bytes: Uint8Array, text: Growing): Promise<void> {
  using remarks = remarksOfReader();
  const pdf = await opened(bytes);
  for (const [remark, part] of MENDED) if (remarks.has(remark)) text.lose("damaged part", part);
  const annotations = await annotationsOf(pdf, text);
  if (remarks.has(CUT_ANNOTATIONS)) text.lose("annotation");
  for (let number = 1; number <= pdf.numPages; number++) {
    text.part(`p.${number}`);
    remarks.forget();
    const items = await itemsOf(pdf, number).catch(() => null);
    const isDamaged = items === null || remarks.has(CUT_PAGE);
    if (isDamaged) text.lose("damaged page", number);
    if (remarks.has(CUT_FONT)) text.lose("damaged part", "font");
    const notes = notesOf(annotations.get(number) ?? [], text);
    const parts = [textOfPage(items ?? []), ...notes].filter((part) => part !== "");
    if (parts.length === 0 && !isDamaged) text.lose("page without text", number);
    for (const part of parts) text.add(`${part}\n`);
    for (const { str } of items ?? [])
      for (const _ of str.matchAll(WITHOUT_MEANING)) text.lose("character without a meaning", number);
  }
  await loseOthers(pdf, text);
}

/** Remarks of pdf.js on the console when it mends a file, and the part that it has mended. */
const MENDED = [
  [/Indexing all PDF objects/, "list of objects"],
  [/invalid \/Pages tree \/Count/, "count of pages"],
] as const;
/** Remarks when it leaves out annotations. */
const CUT_ANNOTATIONS = /_parsedAnnotations|collectAnnotationsByType|getAnnotationsData/;
/** Remarks when it leaves out something of a page, or reads what may be wrong. */
const CUT_PAGE =
  /Invalid stream|is not supported|(?:getTextContent|getContentStream|readToUnicode) - ignoring|ensureStateFont|Unterminated|getHexString|Unknown command|Skipping command [T'"]/;
/** Remarks on a font, whose words it may leave out on all pages, when it comes to the first. */
const CUT_FONT = /(?:translate|load)Font - /;

const REMARKS = [...MENDED.map(([remark]) => remark), CUT_ANNOTATIONS, CUT_PAGE, CUT_FONT];
/** Characters of a remark that are looked at. */
const REMARK_UNITS = 200;

/** Listens to which of these pdf.js makes, until it is disposed of. */
function remarksOfReader() {
  const { warn } = console;
  const said = new Set<RegExp>();
  console.warn = (remark: unknown) => {
    const words = String(remark).slice(0, REMARK_UNITS);
    for (const pattern of REMARKS) if (pattern.test(words)) said.add(pattern);
  };
  return {
    has: (pattern: RegExp) => said.has(pattern),
    forget: () => said.clear(),
    [Symbol.dispose]() {
      console.warn = warn;
    },
  };
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
  for (const [, { name, visible }] of layers) if (!visible) text.lose(HIDDEN.layer, name);
  const about = await pdf.getMetadata().catch(() => null);
  const { IsXFAPresent, IsAcroFormPresent }: Readonly<Record<string, unknown>> = { ...about?.info };
  if (IsXFAPresent === true && IsAcroFormPresent === false) text.lose("XFA form");
}

/** The level of pdf.js at which it says what it mends. */
const WARNINGS = 1;

type Pdf = Awaited<ReturnType<typeof opened>>;

async function opened(bytes: Uint8Array) {
  try {
    const quiet = { isEvalSupported: false, useSystemFonts: false, disableFontFace: true, verbosity: WARNINGS };
    // No picture is unpacked.
    const options = { ...quiet, maxImageSize: 1 };
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
  const shown = items.filter((item) => "str" in item);
  const read = shown.some(({ str }) => MAY_BE_TURNED.test(str)) ? withLigatures(shown, await signsOf(page)) : shown;
  page.cleanup();
  return read;
}

/** Letters of an item that may be those of one sign, لا, of which pdf.js turns each letter. */
const MAY_BE_TURNED = /[\u0622\u0623\u0625\u0627]\u0644/;
/** The operator of pdf.js that shows signs of a font. */
const SHOW_TEXT = 44;

/** The letters of each sign that a page shows, in the order of the file. */
async function signsOf(page: Awaited<ReturnType<Pdf["getPage"]>>): Promise<string[]> {
  const { fnArray, argsArray } = await page.getOperatorList({ annotationMode: 0 });
  const signs = argsArray.flatMap((given, at) => (fnArray[at] === SHOW_TEXT ? given[0] : []));
  return signs.map((sign) => sign?.unicode?.trim() ?? "").filter((letters) => letters !== "");
}

const ARABIC = /(?!\p{N})\p{Script=Arabic}/gu;
const arabicIn = (said: string) => said.match(ARABIC) ?? [];

/** Items with the letters of each sign in their order, if they are these signs turned. */
function withLigatures<Item extends { readonly str: string }>(items: readonly Item[], signs: readonly string[]) {
  let at = 0;
  return items.map((item) => {
    const own: string[] = [];
    const count = lengthOf(item.str);
    for (let length = 0; length < count && at < signs.length; at++) {
      const sign = signs[at] ?? "";
      own.push(sign);
      length += lengthOf(sign);
    }
    const turned = arabicIn(own.join("")).toReversed();
    if (turned.join("") !== arabicIn(item.str).join("")) return item;
    const letters = arabicIn(own.toReversed().join(""));
    let next = 0;
    return { ...item, str: item.str.replace(ARABIC, (letter) => letters[next++] ?? letter) };
  });
}

/** The number of letters, of which a ligature is one for some programs. */
const lengthOf = (said: string) => (/^[^\s\ufb00-\uffff]$/.test(said) ? 1 : lettersIn(said).length);
const lettersIn = (said: string) => said.replace(/\s/g, "").normalize("NFKC");

/** The annotations of all pages that are not damaged, by the number of the page. */
async function annotationsOf(pdf: Pdf, text: Growing): Promise<Map<number, Annotation[]>> {
  const damaged = new Set<number>();
  for (let index = 0; index < pdf.numPages; index++) await pdf.getPage(index + 1).catch(() => damaged.add(index));
  const annotations: Annotation[] | null = await pdf.getAnnotationsByType(new Set(KINDS), damaged).catch(() => null);
  if (annotations === null) text.lose("annotation");
  return Map.groupBy(annotations ?? [], ({ pageIndex = 0 }) => pageIndex + 1);
}

/** A field of a form, or something that was put on a page, as pdf.js gives it. */
interface Annotation {
  readonly subtype?: string;
  readonly pageIndex?: number;
  readonly annotationFlags?: number;
  readonly contentsObj?: { readonly str: string };
  /** The name of its author. */
  readonly titleObj?: { readonly str: string };
  /** The same with looks, which some programs write alone. */
  readonly richText?: { readonly str: string } | null;
  /** The lines that it shows. */
  readonly textContent?: readonly string[];
  readonly hasAppearance?: boolean;
  readonly file?: { readonly filename: string };
  readonly fieldName?: string;
  readonly fieldType?: string;
  readonly fieldValue?: string | readonly string[] | null;
  /** The value of a field if this box or button is on. */
  readonly exportValue?: string;
  readonly buttonValue?: string;
  readonly options?: readonly { readonly exportValue: string; readonly displayValue: string }[];
  readonly password?: boolean;
}

/**
 * The numbers of the kinds that are read: all but those of links, and of popups, which repeat what
 * others say.
 */
const KINDS = Array.from({ length: 28 }, (_, kind) => kind).filter((kind) => kind !== 2 && kind !== 16);
/** Kinds that show something which is not among the words of the page. */
const SHOWN = /^(?:FreeText|Stamp|Watermark|Redact|Sound|Movie|Screen|3D|RichMedia)$/;
/** The flags of what is hidden, or is seen on paper alone. */
const UNSEEN = 2 + 32;

/** The filled fields of a page, and what was written on it. */
function notesOf(annotations: readonly Annotation[], text: Growing): string[] {
  const seen = annotations.filter(({ annotationFlags = 0 }) => (annotationFlags & UNSEEN) === 0);
  const fields = seen.map((one) => fieldOf(one, text));
  const notes = seen.map((one) => noteOf(one, text));
  return [...new Set(fields), ...notes].filter((line) => line !== "");
}

function noteOf(
  { subtype = "", contentsObj, titleObj, richText, textContent = [], hasAppearance, file }: Annotation,
  text: Growing,
): string {
  if (subtype === "Widget") return "";
  const written = contentsObj?.str || richText?.str;
  const said = oneLineOf(written ? [written] : textContent);
  if (file) text.lose("attachment", file.filename);
  else if (said === "" && hasAppearance && SHOWN.test(subtype)) text.lose("annotation", subtype);
  return said === "" ? "" : `[note] ${withAuthor(said, titleObj?.str)}`;
}

/** The name and the value of a field; nothing if people see no value. */
function fieldOf(field: Annotation, text: Growing): string {
  const { subtype, password, fieldName = "", fieldType, fieldValue, options = [], textContent = [] } = field;
  if (subtype !== "Widget" || password) return "";
  if (fieldType === "Sig" && field.hasAppearance) text.lose("signature", fieldName);
  if (fieldType === "Btn" && (fieldValue === "Off" || fieldValue !== (field.exportValue ?? field.buttonValue)))
    return "";
  const shown = new Map(options.map(({ exportValue, displayValue }) => [exportValue, displayValue]));
  const said = oneLineOf([fieldValue || textContent].flat().map((value) => shown.get(value) ?? value));
  return said === "" ? "" : `${fieldName}: ${said}`;
}

const oneLineOf = (lines: readonly string[]) => lines.join(" ").replace(/\s+/g, " ").trim();
