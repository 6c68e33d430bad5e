import { RlmError } from "../../../runtime/index.ts";
import { compileFind, escapePattern, type FindPattern, find } from "../find/find.ts";
import { textFromString } from "../text/text.ts";

/**
 * Tells for each path (relative, with `/`) whether it matches the glob: `*`, `?`, `[…]`, `{a,b}`, `**` for any folders. A
 * pattern holds at any depth; one that begins with `/` or `./` only at the top. All paths are matched in one pass of the
 * linear-time engine, since the pattern is the model's. Throws RlmError for a pattern that it cannot compile.
 */
export function matchGlob(pattern: string, paths: readonly string[]): boolean[] {
  const matched = paths.map(() => false);
  const lines = paths.map((path) => path.replaceAll("\n", "\ufffd"));
  const found = find(textFromString(lines.join("\n")), compiled(pattern), paths.length);
  let line = 0;
  let start = 0;
  for (const [at] of found.matches) {
    while (start < at) start += (lines[line++]?.length ?? 0) + 1;
    matched[line] = true;
  }
  return matched;
}

function compiled(pattern: string): FindPattern {
  try {
    return compileFind(expression(pattern), "m");
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    throw new RlmError("invalid_argument", `glob: ${error.message.replace(/^find: /, "")}`, {
      suggestion: "Correct the pattern.",
    });
  }
}

const TOKEN = /\*\*\/|\*+|\?|\[(!|\^)?(\]?[^\]]*)\]|\\.|[{},]|./gsu;
const FOLDERS = "(?:[^/\\n]*/)*";

/** A longer glob is refused: brackets that are not closed take the square of its length. */
const MOST_UNITS = 4096;

const tooLong = () =>
  new RlmError("invalid_argument", `it has more than ${MOST_UNITS} characters`, { suggestion: "Name fewer paths." });

function expression(pattern: string): string {
  if (pattern.length > MOST_UNITS) throw tooLong();
  const isTop = /^\.?\//.test(pattern);
  const body = translate(pattern.replace(/^\.?\/+/, "").replace(/\/+$/, ""));
  return `^${isTop ? "" : FOLDERS}${body}$`;
}

function translate(pattern: string): string {
  let depth = 0;
  const isBalanced = balanced(pattern);
  return pattern.replace(TOKEN, (text, negation: string | undefined, members: string | undefined, at: number) => {
    const opensName = at === 0 || pattern[at - 1] === "/";
    if (text === "**/") return opensName ? FOLDERS : "[^/\\n]*/";
    if (text === "**" && opensName && at + 2 === pattern.length) return "[^\\n]*";
    if (text.startsWith("*")) return "[^/\\n]*";
    if (text === "?") return "[^/\\n]";
    if (members !== undefined && members !== "") return `[${negation ? "^/\\n" : ""}${classOf(members)}]`;
    if (isBalanced && (text === "{" || text === "}")) {
      depth += text === "{" ? 1 : -1;
      return text === "{" ? "(?:" : ")";
    }
    if (text === "," && depth > 0) return "|";
    return escapePattern(text.length > 1 && text.startsWith("\\") ? text.slice(1) : text);
  });
}

/** True if its braces, other than escaped ones and those in brackets, are alternatives; else they stand for themselves. */
function balanced(pattern: string): boolean {
  let depth = 0;
  for (const [token] of pattern.matchAll(TOKEN)) {
    if (token === "{") depth += 1;
    if (token === "}") depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0;
}

function classOf(members: string): string {
  return members.replace(/[\\^[\]&~]|-(?=-)/g, "\\$&");
}
