interface Token {
  readonly text: string;
  readonly inClass: boolean;
}

/** Escapes and brackets that must not be torn apart; anything else is one character. */
const TOKEN =
  /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\[puxP]\{[^}]*\}|\\b\{[a-z-]+\}|\\k<[^>]*>|\\c[A-Za-z]|\\0(?!\d)|\\[1-9]|\\?[\s\S]/gy;
const GROUP = /\(\?(?:<?[=!]|>|P=\w*\)?)/y;
const QUANTIFIER = /\{\d*(?:,\d*)?\}/y;

/** The first construct of the pattern that Rust's regex crate lacks because it cannot be matched in linear time, and what to do instead. */
export function unsupportedIn(pattern: string) {
  let index = 0;
  for (const { text, inClass } of tokensOf(pattern)) {
    const construct = inClass ? "" : text === "(" ? matchAt(GROUP, pattern, index) : text;
    const suggestion = adviceFor(construct);
    if (suggestion !== undefined) return { construct, index, suggestion };
    index += text.length;
  }
  return undefined;
}

/**
 * The pattern as JavaScript means it, spelled for Rust: `[^]`, a `{` that begins no quantifier, `\0`, `\cX`, `[\b]`,
 * surrogate pairs. With `brackets` also `[` inside a class, where Rust would open a nested class.
 */
export function fromJavaScript(pattern: string, brackets: boolean): string {
  let index = 0;
  let source = "";
  for (const token of tokensOf(pattern)) {
    source += spell(token, pattern, index, brackets);
    index += token.text.length;
  }
  return source;
}

function* tokensOf(pattern: string): Generator<Token> {
  let inClass = false;
  for (const [text] of pattern.matchAll(TOKEN)) {
    yield { text, inClass };
    if (text === "]") inClass = false;
    else if (text === "[") inClass = true;
  }
}

function spell({ text, inClass }: Token, pattern: string, index: number, brackets: boolean): string {
  if (text === "\\0") return "\\x00";
  if (text === "\\b" && inClass) return "\\x08";
  if (text === "[" && inClass && brackets) return "\\[";
  if (text === "^" && inClass && pattern.startsWith("[^]", index - 1)) return "\\s\\S";
  if (text === "{" && !inClass && matchAt(QUANTIFIER, pattern, index) === "") return "\\{";
  if (text.startsWith("\\c") && text.length === 3) return `\\x{${(text.charCodeAt(2) % 32).toString(16)}}`;
  if (text.length === 12 && text.startsWith("\\u")) {
    const units = [text.slice(2, 6), text.slice(8)].map((hex) => Number.parseInt(hex, 16));
    return `\\u{${String.fromCharCode(...units)
      .codePointAt(0)
      ?.toString(16)}}`;
  }
  return text;
}

function adviceFor(construct: string): string | undefined {
  if (/^\(\?<[=!]/.test(construct)) return "Match the text before as well, then slice the match in JavaScript.";
  if (/^\(\?[=!]/.test(construct))
    return "Match without it, then filter the matches in JavaScript with peek(start, end).";
  if (/^\\[1-9]|^\\k<|^\(\?P=/.test(construct)) return "Match both parts loosely, then compare them in JavaScript.";
  if (construct.startsWith("(?>"))
    return "Write (?: instead: find never backtracks, so the result is the same or wider.";
  return undefined;
}

function matchAt(sticky: RegExp, pattern: string, index: number): string {
  sticky.lastIndex = index;
  return sticky.exec(pattern)?.[0] ?? "";
}
