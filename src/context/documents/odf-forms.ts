import type { Attributes } from "./markup.ts";
import type { OdfParagraphs } from "./odf-paragraphs.ts";
import type { Handlers } from "./xml.ts";

const FIELDS = ["text", "textarea", "formatted-text", "number", "date", "time", "combobox"];
const BOXES = ["checkbox", "radio"];
const LABELLED = ["button", "fixed-text", "frame"];

/** Shows the values of forms where their controls stand. Passwords and hidden fields are not shown. */
export function odfForms(paragraphs: OdfParagraphs): Handlers {
  const shown = new Map<string, string>();
  let list = "";
  const each = (names: readonly string[], words: (given: Attributes) => string | undefined) =>
    names.map((name) => [`form:${name}`, (given: Attributes) => shown.set(idOf(given), words(given) ?? "")] as const);
  return {
    ...Object.fromEntries([
      ...each(FIELDS, (given) => given["form:current-value"] ?? given["form:value"]),
      ...each(LABELLED, (given) => given["form:label"]),
      ...each(BOXES, (given) => `${isChosen(given) ? "[x]" : "[ ]"} ${given["form:label"] ?? ""}`.trim()),
    ]),
    "form:listbox": (given) => (list = idOf(given)),
    "form:option"(given) {
      const before = shown.get(list);
      const words = given["form:label"] ?? given["form:value"] ?? "";
      if (isChosen(given)) shown.set(list, before === undefined ? words : `${before}, ${words}`);
    },
    "draw:control"(given) {
      const words = shown.get(given["draw:control"] ?? "") ?? "";
      // One that stands in a line of text belongs to it.
      if (given["text:anchor-type"] === "as-char" && paragraphs.put(` ${words} `)) return;
      paragraphs.begin({});
      paragraphs.put(words);
      paragraphs.end();
    },
  };
}

const idOf = (given: Attributes) => given["xml:id"] ?? given["form:id"] ?? "";

function isChosen(given: Attributes): boolean {
  const state = given["form:current-state"] ?? given["form:state"];
  return state === "checked" || (given["form:current-selected"] ?? given["form:selected"]) === "true";
}
