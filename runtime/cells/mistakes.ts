import { parse } from "acorn";
import { isMarkup, isScriptMistake, type ScriptMistake } from "./typescript.ts";

/**
 * Returns a cure for a source that is not valid JavaScript, by the engine's message and by what the
 * source looks like.
 */
export function syntaxCure(message: string, source: string): string {
  const other = pythonCure(source.slice(0, LOOKED_AT)) ?? characterCure(source);
  if (other) return other;
  if (/: ''$|unexpected end|unterminated/i.test(message)) return "The cell ends too early: close what is open.";
  if (/await/.test(message)) return "Use await at the top level or in an async function.";
  if (/redefinition|already been declared/.test(message)) return "Declare the name once in a cell.";
  if (/^[A-Z][a-z]+( [a-z]+){2,}/.test(source.trim())) {
    return "This looks like prose: send JavaScript alone, with prose in comments.";
  }
  return "Fix the syntax at the line and column named in the traceback.";
}

/** Patterns look at so many units of a source alone, since some look ahead from each place. */
const LOOKED_AT = 2000;

/** Statements that only Python has. */
const PYTHON: readonly RegExp[] = [
  /^\s*(?:def \w+\(|elif |from [\w.]+ import |import [\w.]+(?: as \w+)?(?:, *[\w.]+)*[ \t]*$)/m,
  /^\s*(?:for [\w, ]+ in|if|while|elif|else|try|except|with|class)\b[^{;]*:\s*(?:#.*)?$/m,
  /^\s*(?:if|elif|while|for) [^({\n][^;{\n]*:\s*\S/m,
  /^\s*print\s+(?:["'\w]|f["'])/m,
  /[[({=]\s*[^\n]*\bfor [\w, ]+ in [^\n]+[\])}]/,
  /\blambda [\w, ]*:/,
  /^\s*#(?!!)/m,
  /"""/,
];

function pythonCure(source: string): string | undefined {
  const like = "This looks like Python";
  const slice = /([\w.]+|[)\]])\[(-?\w*):(-?\w*)\]/.exec(source);
  if (slice) {
    const [, of = "", from = "", to = ""] = slice;
    const name = /^\w/.test(of) ? of : "value";
    return `${like}: cells are JavaScript, and a part is ${name}.slice(${from || 0}${to && `, ${to}`}).`;
  }
  if (/(?:^|[^\w.$])[fF](?:"|')/.test(source)) {
    return `${like}: cells are JavaScript, and a text with values is written in backquotes: \`\${P.length} chars\`.`;
  }
  return PYTHON.some((pattern) => pattern.test(source)) ? `${like}: cells are JavaScript.` : undefined;
}

/**
 * Names a character that is not JavaScript, such as a bracket of another script, or markup between
 * statements.
 */
function characterCure(source: string): string | undefined {
  const mistake = mistakeIn(source);
  if (!mistake) return undefined;
  if (isMarkup(source, mistake.pos)) return "There is no JSX here: write markup as a text, in quotes or backquotes.";
  const [, character] = /^Unexpected character '(\P{ASCII}+)'/u.exec(mistake.message) ?? [];
  if (character === undefined) return undefined;
  const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0");
  const meant = PLAIN[character] ?? character.normalize("NFKC");
  const cure = /^[\x21-\x7e]$/.test(meant) ? `write ${meant} for it` : "take it out, or put it in quotes";
  return `JavaScript does not know the character ${character} (U+${code}): ${cure}.`;
}

/** The first mistake that acorn finds; undefined if it finds none, or cannot read the source. */
function mistakeIn(source: string): ScriptMistake | undefined {
  try {
    parse(source, { ecmaVersion: "latest", allowAwaitOutsideFunction: true, allowHashBang: true });
  } catch (error) {
    if (isScriptMistake(error)) return error;
  }
  return undefined;
}

/** ASCII for characters that word processors put in. */
const PLAIN: Readonly<Record<string, string>> = {
  "“": '"',
  "”": '"',
  "„": '"',
  "«": '"',
  "»": '"',
  "‘": "'",
  "’": "'",
  "‚": "'",
  "–": "-",
  "—": "-",
  "−": "-",
  "×": "*",
  "÷": "/",
};
