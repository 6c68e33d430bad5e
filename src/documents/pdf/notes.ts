import type { Growing } from "../growing.ts";

/** A field of a form, or something that was put on a page, as pdf.js gives it. */
export interface Annotation {
  readonly subtype?: string;
  readonly pageIndex?: number;
  readonly annotationFlags?: number;
  readonly contentsObj?: { readonly str: string };
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

/** The numbers of the kinds that are read: all but those of links, and of popups, which repeat what others say. */
export const KINDS = Array.from({ length: 28 }, (_, kind) => kind).filter((kind) => kind !== 2 && kind !== 16);
/** Kinds that show something which is not among the words of the page. */
const SHOWN = /^(?:FreeText|Stamp|Watermark|Redact|Sound|Movie|Screen|3D|RichMedia)$/;
/** The flags of what is hidden, or is seen on paper alone. */
const HIDDEN = 2 + 32;

/** The filled fields of a page, and what was written on it. */
export function notesOf(annotations: readonly Annotation[], text: Growing): string[] {
  const seen = annotations.filter(({ annotationFlags = 0 }) => (annotationFlags & HIDDEN) === 0);
  const fields = seen.map((one) => fieldOf(one, text));
  const notes = seen.map((one) => noteOf(one, text));
  return [...new Set(fields), ...notes].filter((line) => line !== "");
}

function noteOf(
  { subtype = "", contentsObj, textContent = [], hasAppearance, file }: Annotation,
  text: Growing,
): string {
  if (subtype === "Widget") return "";
  const said = oneLineOf(contentsObj?.str ? [contentsObj.str] : textContent);
  if (file) text.lose("attachment", file.filename);
  else if (said === "" && hasAppearance && SHOWN.test(subtype)) text.lose("annotation", subtype);
  return said === "" ? "" : `[note] ${said}`;
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
