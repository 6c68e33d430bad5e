import { type ObjectExpression, parseExpressionAt } from "acorn";

/**
 * The text of a JSON file with one more entry in the object `key` of it. All that is there stays as
 * it was written.
 *
 * @param text JSON of an object, in which `key` is an object without the entry, or is missing
 */
export function withEntry(text: string, key: string, name: string, entry: object): string {
  const root = parseExpressionAt(text, 0, { ecmaVersion: "latest" });
  if (root.type !== "ObjectExpression") throw new Error("the text is not an object");
  const unit = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
  const table = objectAt(root, key);
  if (table) return withMember(text, table, { name, value: entry, unit, level: 2 });
  return withMember(text, root, { name: key, value: { [name]: entry }, unit, level: 1 });
}

function objectAt(root: ObjectExpression, key: string): ObjectExpression | null {
  for (const member of root.properties) {
    const isIt = member.type === "Property" && member.key.type === "Literal" && member.key.value === key;
    if (isIt && member.value.type === "ObjectExpression") return member.value;
  }
  return null;
}

interface Member {
  readonly name: string;
  readonly value: object;
  /** One step of the file's indentation. */
  readonly unit: string;
  /** Steps of the member. */
  readonly level: number;
}

function withMember(text: string, object: ObjectExpression, { name, value, unit, level }: Member): string {
  const margin = unit.repeat(level);
  const lines = compactJson(value, unit).replaceAll("\n", `\n${margin}`);
  const last = object.properties.at(-1);
  const at = last ? last.end : object.start + 1;
  const rest = text.slice(at, object.end - 1);
  const end = rest.includes("\n") ? rest : `\n${unit.repeat(level - 1)}`;
  const before = `${text.slice(0, at)}${last ? "," : ""}`;
  return `${before}\n${margin}${JSON.stringify(name)}: ${lines}${end}${text.slice(object.end - 1)}`;
}

const LINE_UNITS = 100;

/** JSON in which what fits on a line stands on one. */
export function compactJson(value: unknown, unit: string, level = 0): string {
  const line = spaced(value);
  if (typeof value !== "object" || value === null || (level > 0 && line.length <= LINE_UNITS)) return line;
  const margin = `\n${unit.repeat(level + 1)}`;
  const end = `\n${unit.repeat(level)}`;
  const inner = (one: unknown) => compactJson(one, unit, level + 1);
  if (Array.isArray(value)) return `[${value.map((one) => margin + inner(one)).join(",")}${end}]`;
  const members = Object.entries(value).map(([key, one]) => `${margin}${JSON.stringify(key)}: ${inner(one)}`);
  return `{${members.join(",")}${end}}`;
}

/** JSON on one line: `{ "a": ["b", 1] }`. A text has no line breaks of its own in it. */
const spaced = (value: unknown) =>
  JSON.stringify(value, null, 1)
    .replaceAll(/(?<=\[)\n\s*|\n\s*(?=\])/g, "")
    .replaceAll(/\n\s*/g, " ");
