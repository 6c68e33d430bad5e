import type { Attributes } from "../markup.ts";

/** Lines that elements of MathML become. `{}` is an argument. What stands before the last one stands before those behind it, too. */
const FORMS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    mfrac: "({})/({})",
    msqrt: "√({}{})",
    mroot: "({})^(1/({}))",
    msup: "{}^({})",
    mover: "{}^({})",
    msub: "{}_({})",
    munder: "{}_({})",
    msubsup: "{}_({})^({})",
    munderover: "{}_({})^({})",
    mtable: "{}; {}",
    mtr: "{} {}",
  }),
);

/** The signs around the arguments of an element of MathML in a line; undefined if its words stand as they are. */
export function signsAround(
  name: string,
  { open = "(", close = ")", separators = "," }: Attributes,
): string[] | undefined {
  const form = name === "mfenced" ? `${open}{}${separators.charAt(0)}{}${close}` : FORMS.get(name);
  return form?.split("{}");
}
