/** A row of a table as RFC 4180 has it, with its end. */
export function csvLine(cells: readonly (string | number | boolean | null)[]): string {
  return `${cells.map(cellText).join(",")}\n`;
}

function cellText(cell: string | number | boolean | null): string {
  if (cell === null) return "";
  const text = typeof cell === "string" ? guarded(cell) : String(cell);
  return /[",\r\n]/.test(text) || text.trim() !== text ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A spreadsheet takes such a text for a formula, which can call programs and send data away. Full-width signs count as well. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** The text with a `'` before what a spreadsheet would calculate. Numbers stay. */
function guarded(text: string): string {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}
