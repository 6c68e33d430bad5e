import type { Attributes } from "./markup.ts";

/** The signs around the arguments of an element of MathML. The last one `before` an argument stands before those behind it, too. */
export interface MathForm {
  readonly before: readonly [string, ...string[]];
  readonly end: string;
}

const FORMS: Readonly<Record<string, MathForm>> = {
  mfrac: { before: ["(", ")/("], end: ")" },
  msqrt: { before: ["√(", ""], end: ")" },
  mroot: { before: ["(", ")^(1/("], end: "))" },
  msup: { before: ["", "^("], end: ")" },
  mover: { before: ["", "^("], end: ")" },
  msub: { before: ["", "_("], end: ")" },
  munder: { before: ["", "_("], end: ")" },
  msubsup: { before: ["", "_(", ")^("], end: ")" },
  munderover: { before: ["", "_(", ")^("], end: ")" },
  mtable: { before: ["", "; "], end: "" },
  mtr: { before: ["", " "], end: "" },
};

/** The form of an element of MathML in a line; undefined if its words stand as they are. */
export function mathForm(
  name: string,
  { open = "(", close = ")", separators = "," }: Attributes,
): MathForm | undefined {
  return name === "mfenced" ? { before: [open, separators.charAt(0)], end: close } : FORMS[name];
}
