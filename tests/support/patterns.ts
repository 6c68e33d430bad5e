import fc from "fast-check";
import { RRegex } from "rregex";
import { recent } from "../../src/context/find/recent.ts";
import type { Text } from "../../src/context/text/text.ts";

const atom = fc.constantFrom(
  ...["a", "b", "foo", "é", "漢", "😀", "\\n", "\\r", " ", "x y", "\\.", "=", "\\x00", "\\x01", ""],
  ...[".", "(?s:.)", "\\s", "\\S", "\\w", "\\W", "\\d", "(?-u:\\w)", "(?i:B)", "\\p{Lu}"],
  ...["[ab]", "[^a]", "[a-z漢]", "[^\\n]", "[^\\w\\s]", "[^b\\n]", "[a&&b]"],
  ...["\\b", "\\B", "\\b{start}", "\\b{end}", "\\b{start-half}", "\\b{end-half}"],
  ...["(?-u:\\b)", "(?-u:\\b{start})", "(?-u:\\b{end})", "(?-u:\\b{start-half})", "(?-u:\\b{end-half})"],
  ...["^", "$", "\\A", "\\z", "(?m:^)", "(?m:$)", "(?R:$)", "(?mR:^)", "(?mR:$)"],
);
const quantifier = fc.constantFrom("*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{2,}", "{0,2}?", "{1,}?");
/** Patterns in Rust's syntax, of all that it has. */
export const { source } = fc.letrec<{ source: string }>((tie) => ({
  source: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    { weight: 4, arbitrary: atom },
    { weight: 4, arbitrary: fc.array(tie("source"), { minLength: 2, maxLength: 4 }).map((parts) => parts.join("")) },
    { weight: 2, arbitrary: fc.tuple(tie("source"), tie("source")).map(([one, other]) => `(${one}|${other})`) },
    { weight: 3, arbitrary: fc.tuple(tie("source"), quantifier).map(([sub, times]) => `(?:${sub})${times}`) },
    { weight: 2, arbitrary: fc.tuple(atom, quantifier).map(([sub, times]) => `(?:${sub})${times}`) },
  ),
}));
export const flags = fc.subarray(["i", "m", "s"]).map((letters) => letters.join(""));
/** Texts in which such patterns match. */
export const plainText = fc
  .array(
    fc.constantFrom(
      ...[
        ...["a", "b", "foo", "A", "é", "漢", "😀", " ", "x y", "_", "7", ".", "=", "\n", "\n\n", "\r\n", "\r", "\0"],
        ...["\u2028", "\x01"],
      ],
    ),
    { maxLength: 40 },
  )
  .map((pieces) => pieces.join(""));
const reference = recent(
  1,
  (source) => new RRegex(source),
  (regex) => regex.free(),
);

/** The oracle: one search of the whole text, as a string, through rregex's published functions. */
export function onePass(pattern: string, flags: string, text: Text): [number, number][] {
  const regex = reference((flags === "" ? "" : `(?${flags})`) + pattern);
  return regex.findAll(text.slice(0, text.length)).map(({ start, end }) => [text.unitAt(start), text.unitAt(end)]);
}
