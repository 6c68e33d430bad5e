import { parse } from "acorn";

/** Returns a cure for a source that is not valid JavaScript, by the engine's message and by what the source looks like. */
export function syntaxCure(message: string, source: string): string {
  const other = pythonCure(source) ?? characterCure(source);
  if (other) return other;
  if (/: ''$|unexpected end|unterminated/i.test(message)) return "The cell ends too early: close what is open.";
  if (/await/.test(message)) return "Use await at the top level or in an async function.";
  if (/redefinition|already been declared/.test(message)) return "Declare the name once in a cell.";
  if (/^[A-Z][a-z]+( [a-z]+){2,}/.test(source.trim())) {
    return "This looks like prose: send JavaScript alone, with prose in comments.";
  }
  return "Fix the syntax at the line and column named in the traceback.";
}

/** Statements that only Python has. */
const PYTHON: readonly RegExp[] = [
  /^\s*(?:def \w+\(|elif |from [\w.]+ import |import [\w.]+(?: as \w+)?(?:, *[\w.]+)*[ \t]*$)/m,
  /^\s*(?:for [\w, ]+ in|if|while|elif|else|try|except|with|class)\b[^{;]*:\s*(?:#.*)?$/m,
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
    return `${like}: cells are JavaScript, and a text with values stands in backquotes: \`\${P.length} chars\`.`;
  }
  return PYTHON.some((pattern) => pattern.test(source)) ? `${like}: cells are JavaScript.` : undefined;
}

/** Names a character that is not JavaScript, such as a bracket of another script. */
function characterCure(source: string): string | undefined {
  const character = unexpectedCharacter(source);
  if (character === undefined) return undefined;
  const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0");
  const meant = PLAIN[character] ?? character.normalize("NFKC");
  const cure = /^[\x21-\x7e]$/.test(meant) ? `write ${meant} for it` : "take it out, or put it in quotes";
  return `JavaScript does not know the character ${character} (U+${code}): ${cure}.`;
}

function unexpectedCharacter(source: string): string | undefined {
  try {
    parse(source, { ecmaVersion: "latest", allowAwaitOutsideFunction: true, allowHashBang: true });
  } catch (error) {
    const found = error instanceof SyntaxError ? /^Unexpected character '(\P{ASCII}+)'/u.exec(error.message) : null;
    return found?.[1];
  }
  return undefined;
}

/** ASCII for characters that word processors put in. */
const PLAIN: Readonly<Record<string, string>> = {
  ...{ "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "‚": "'" },
  ...{ "–": "-", "—": "-", "−": "-", "×": "*", "÷": "/" },
};
