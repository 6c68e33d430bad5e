import type { Growing } from "./growing.ts";

/** A field of a form, or something that was put on a page, as pdf.js gives it. */
export interface Annotation {
  readonly id: string;
  readonly subtype: string;
  readonly contentsObj: { readonly str: string };
  /** The lines that it shows. */
  readonly textContent?: readonly string[];
  readonly hasAppearance: boolean;
  readonly file?: { readonly filename: string };
  readonly fieldName?: string;
  readonly fieldType?: string;
  readonly fieldValue?: string | readonly string[] | null;
  /** The value of a field if this box or button is on. */
  readonly exportValue?: string;
  readonly buttonValue?: string;
  readonly options?: readonly { readonly exportValue: string; readonly displayValue: string }[];
  readonly hidden?: boolean;
  readonly password?: boolean;
}

/** Kinds that mark words or are drawn, and need none of their own. */
const WORDLESS =
  /^(?:Text|Highlight|Underline|Squiggly|StrikeOut|Caret|Ink|Line|Square|Circle|Polygon|PolyLine|PrinterMark)$/;

/** The filled fields of a page, and what was written on it. */
export function notesOf(annotations: readonly Annotation[], text: Growing): string[] {
  const fields = annotations.filter(({ subtype }) => subtype === "Widget").map((one) => fieldOf(one, text));
  const notes = annotations.map((one) => noteOf(one, text));
  return [...new Set(fields), ...notes].filter((line) => line !== "");
}

function noteOf({ subtype, contentsObj, textContent = [], hasAppearance, file }: Annotation, text: Growing): string {
  // A popup repeats what another one says.
  if (subtype === "Widget" || subtype === "Popup" || subtype === "Link") return "";
  const said = oneLineOf(contentsObj.str === "" ? textContent : [contentsObj.str]);
  if (file) text.lose("attachment", file.filename);
  else if (said === "" && hasAppearance && !WORDLESS.test(subtype)) text.lose("annotation", subtype);
  return said === "" ? "" : `[note] ${said}`;
}

/** The name and the value of a field; nothing if people see no value. */
function fieldOf(field: Annotation, text: Growing): string {
  const { fieldName = "", fieldType, fieldValue, options = [], textContent = [] } = field;
  if (field.hidden || field.password) return "";
  if (fieldType === "Sig" && field.hasAppearance) text.lose("signature", fieldName);
  if (fieldType === "Btn" && (fieldValue === "Off" || fieldValue !== (field.exportValue ?? field.buttonValue)))
    return "";
  const shown = new Map(options.map(({ exportValue, displayValue }) => [exportValue, displayValue]));
  const said = oneLineOf([fieldValue || textContent].flat().map((value) => shown.get(value) ?? value));
  return said === "" ? "" : `${fieldName}: ${said}`;
}

const oneLineOf = (lines: readonly string[]) => lines.join(" ").replace(/\s+/g, " ").trim();
