/** Characters up to which a value stays on its line. */
const ON_ONE_LINE = 80;

/** JSON in which only what is long is spread over lines; empty for undefined. */
export function jsonText(value: unknown, indent = ""): string {
  const line = JSON.stringify(value) ?? "";
  if (line.length <= ON_ONE_LINE || typeof value !== "object" || value === null) return line;
  const deeper = `${indent}  `;
  if (Array.isArray(value))
    return spread(
      "[",
      "]",
      value.map((item) => jsonText(item, deeper)),
    );
  const fields = Object.entries(value).map(([key, held]) => `${JSON.stringify(key)}: ${jsonText(held, deeper)}`);
  return spread("{", "}", fields);

  function spread(open: string, close: string, items: readonly string[]): string {
    return `${open}\n${items.map((item) => deeper + item).join(",\n")}\n${indent}${close}`;
  }
}
