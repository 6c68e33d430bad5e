import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../scripts/process.ts";

// Two rules of docs/style.md: no docstring begins like a question, and no error has a word that nobody searches for.

interface Offender {
  readonly index: number;
  readonly text: string;
}

function docstrings(code: string): Offender[] {
  const asked = /\/\*\*[\s*]*((?:What|How|Where|Whether|Of|All that|So many|Who)\b[^\n]*)/g;
  return Array.from(code.matchAll(asked), ({ index, 1: text = "" }) => ({ index, text }));
}

function messages(code: string): Offender[] {
  return Array.from(code.matchAll(/new (?:UsageError|RlmError)\(/g)).flatMap(({ index, 0: call }) => {
    const texts = argumentsAt(code, index + call.length).match(/"[^"\n]*"|`[^`]*`/g) ?? [];
    const vague = /\b(?:nobody|stands?|tells?|told|says?|said|holds?|counts?)\b/;
    return texts.filter((text) => vague.test(text.replaceAll(/\$\{[^}]*\}/g, ""))).map((text) => ({ index, text }));
  });
}

/** The source up to the parenthesis that closes a call. */
function argumentsAt(code: string, start: number): string {
  let end = start;
  for (let depth = 1; depth > 0 && end < code.length; end++) {
    if (code[end] === "(") depth++;
    if (code[end] === ")") depth--;
  }
  return code.slice(start, end);
}

test.each([
  ["docstrings", docstrings, "Begin them with a noun or a verb in the third person, or with “True if”"],
  [
    "messages",
    messages,
    "Name the argument, the problem and the remedy, without tell, say, stand, hold, count or nobody",
  ],
])("no %s are against the rules of style", (_kind, find, rule) => {
  const files = globSync(["src/**/*.{ts,js}", "runtime/**/*.{ts,js}", "builtins/**/*.{ts,js}"], { cwd: ROOT });
  expect(files.length).toBeGreaterThan(500);
  const found = files.flatMap((file) => {
    const code = readFileSync(join(ROOT, file), "utf8");
    return find(code).map(({ index, text }) => `${file}:${code.slice(0, index).split("\n").length}: ${text}`);
  });
  expect(found, rule).toEqual([]);
});
