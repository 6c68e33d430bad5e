/** Characters up to which a value stays on its line. */
const ON_ONE_LINE = 80;

/** JSON in which only what is long is spread over lines; empty for undefined. */
export function jsonText(value: unknown, indent = ""): string {
  const line = JSON.stringify(value) ?? "";
  if (line.length <= ON_ONE_LINE || typeof value !== "object" || value === null) return line;
  const deeper = `${indent}  `;
  const items = Array.isArray(value)
    ? value.map((item) => jsonText(item, deeper))
    : Object.entries(value).map(([key, held]) => `${JSON.stringify(key)}: ${jsonText(held, deeper)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  return `${open}\n${items.map((item) => deeper + item).join(",\n")}\n${indent}${close}`;
}
