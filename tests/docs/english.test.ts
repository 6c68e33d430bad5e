import { globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../scripts/process.ts";

// docs/style.md in two counts: docstrings that begin like a question, and words in errors that nobody searches for. english.json
// has those that are left, by folder. A count may only fall.

const LEFT: Record<string, Record<string, number>> = JSON.parse(
  readFileSync(join(ROOT, "tests/docs/english.json"), "utf8"),
);

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
])("no folder has more %s against the rules than the list allows", (kind, find, rule) => {
  const files = globSync(["src/**/*.{ts,js}", "runtime/**/*.{ts,js}", "builtins/**/*.{ts,js}"], { cwd: ROOT });
  const found = files.flatMap((file) => {
    const code = readFileSync(join(ROOT, file), "utf8");
    const changed = statSync(join(ROOT, file)).mtimeMs;
    const folder = /^(?:src\/[\w-]+|\w+)(?=\/)/.exec(file)?.[0] ?? "";
    const lineAt = (index: number) => code.slice(0, index).split("\n").length;
    return find(code).map(({ index, text }) => ({ folder, changed, shown: `${file}:${lineAt(index)}: ${text}` }));
  });
  const folders = Map.groupBy(found, ({ folder }) => folder);
  expect(files.length).toBeGreaterThan(500);
  for (const [folder, list] of folders) {
    const newest = list.sort((a, b) => b.changed - a.changed).slice(0, 3);
    const places = newest.map(({ shown }) => `\n  ${shown}`).join("");
    const problem = `${list.length} ${kind} of ${folder} are against docs/style.md. ${rule}. The newest:${places}`;
    expect(list.length, problem).toBeLessThanOrEqual(LEFT[kind]?.[folder] ?? 0);
  }
});
