import { tokenizer } from "acorn";

/** The names that a cell has in its code: those in comments, texts and regular expressions are not among them. */
export function namesIn(source: string): ReadonlySet<string> {
  const names = new Set<string>();
  try {
    const tokens = tokenizer(source, { ecmaVersion: "latest", allowHashBang: true });
    for (const { type, start, end } of tokens) if (type.label === "name") names.add(source.slice(start, end));
  } catch {
    // The engine will say what is wrong behind this place.
  }
  return names;
}
