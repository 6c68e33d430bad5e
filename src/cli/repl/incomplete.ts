import { parse } from "acorn";

/** Whether a cell ends before its code does: a bracket, template or comment is open, or an operand is missing. */
export function isIncomplete(source: string): boolean {
  const asScript = problemOf(source);
  if (asScript === null) return false;
  if (!/^\s*\{/.test(source)) return asScript === "incomplete";
  // Code that begins with a brace may be an object, as in Node's REPL.
  const asObject = problemOf(`(${source}\n)`, 1);
  return asObject !== null && (asScript === "incomplete" || asObject === "incomplete");
}

/** @param closing characters after the source that close what was put before it */
function problemOf(source: string, closing = 0): "incomplete" | "wrong" | null {
  try {
    parse(source, {
      ecmaVersion: "latest",
      sourceType: "script",
      allowAwaitOutsideFunction: true,
      allowReturnOutsideFunction: true,
      allowHashBang: true,
    });
    return null;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    if (/^Unterminated (template|comment)/.test(error.message)) return "incomplete";
    const at = "pos" in error ? Number(error.pos) : 0;
    const isOpenString = /^Unterminated string/.test(error.message) && /\\$/.test(source);
    return at >= source.length - closing || isOpenString ? "incomplete" : "wrong";
  }
}
