import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../scripts/process.ts";

// The rules of docs/style.md that a pattern can check: how docstrings begin, words that errors do not have, and phrases that
// neither pages nor code have, each with what to write instead.

interface Offender {
  readonly index: number;
  readonly text: string;
}

interface Phrase {
  readonly pattern: RegExp;
  /** What to write instead. */
  readonly cure: string;
}

/** Phrases that neither pages nor sources have. */
const ANYWHERE: readonly Phrase[] = [
  { pattern: /\bnobody (?:can tell|knows)\b/gi, cure: "it is unknown" },
  { pattern: /\bof which nobody\b/gi, cure: "whose … is unknown" },
  { pattern: /\bsomebody\b/gi, cure: "the actor: another user, another process, a person" },
  { pattern: /\botherwise than\b/gi, cure: "differently from; how X differs from Y" },
  { pattern: /\bbut for\b/gi, cure: "except" },
  { pattern: /\bcomes? upon\b/gi, cure: "finds" },
  { pattern: /\bget(?:s|ting) on\b/gi, cure: "makes progress" },
  { pattern: /\bfor ever\b/gi, cure: "forever; permanently" },
  { pattern: /\b(?:in|takes?|took) the place of\b/gi, cure: "replaces; instead of" },
  { pattern: /\bcounts? nowhere\b/gi, cure: "does not count" },
  { pattern: /\bone behind the other\b/gi, cure: "one after the other" },
  { pattern: /\bnothing (?:was|is) begun\b/gi, cure: "cancelled before anything started" },
  { pattern: /\bis of none\b/gi, cure: "does not belong to a …" },
];

/** Phrases that pages do not have, outside of blocks of code. */
const IN_PAGES: readonly Phrase[] = [
  { pattern: /(?<!\bthere )\b(?:is|are|was|were) no (?!longer\b|more\b)/gi, cure: "is not a" },
  { pattern: /\b(?:go|goes|going|gone|went) on\b(?! to\b)/gi, cure: "continues; resumes" },
  { pattern: /\b(?:is|are|was|were) over\b/gi, cure: "has finished; has ended" },
  { pattern: /\btells? (?:how|what|when|whether|which|why)\b/gi, cure: "reports; says" },
  { pattern: /\b(?:stands?|stood) (?:above|at|behind|below|beside|between|in|on|under)\b/gi, cure: "is" },
  { pattern: /\bas (?:it|they) stands?\b/gi, cure: "unchanged" },
  { pattern: /\bat the (?:least|most)\b/gi, cure: "at least; at most" },
  { pattern: /\bmay be gone on with\b/gi, cure: "can be continued" },
];

function docstrings(code: string): Offender[] {
  const asked = /\/\*\*[\s*]*((?:What|How|Where|Whether|Of|All that|So many|Who)\b[^\n]*)/g;
  return Array.from(code.matchAll(asked), ({ index, 1: text = "" }) => ({ index, text }));
}

/** Comments beside code. Guest files are left out: snapshots depend on their bytes. */
function comments(code: string): Offender[] {
  return Array.from(code.matchAll(/^ *\/\/ (What\b[^\n]*)/gm), ({ index, 1: text = "" }) => ({ index, text }));
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

function phrasesIn(text: string, phrases: readonly Phrase[]): Offender[] {
  return phrases.flatMap(({ pattern, cure }) =>
    Array.from(text.matchAll(pattern), ({ index, 0: found }) => ({ index, text: `“${found}”; write: ${cure}` })),
  );
}

/** The text with blanks for blocks and spans of code, and for the style's examples of what not to write. */
function prose(page: string): string {
  const blank = (code: string) => code.replaceAll(/[^\n]/g, " ");
  return page
    .replaceAll(/^```.*?^```$/gms, blank)
    .replaceAll(/`[^`\n]+`/g, blank)
    .replaceAll(/^\| today \| write \|\n(?:\|.*\n)*/gm, blank);
}

function offendersIn(files: readonly string[], find: (text: string) => Offender[]): string[] {
  return files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), "utf8");
    return find(text).map((one) => `${file}:${text.slice(0, one.index).split("\n").length}: ${one.text}`);
  });
}

const SOURCES = globSync(["src/**/*.{ts,js}", "runtime/**/*.{ts,js}", "builtins/**/*.{ts,js}"], { cwd: ROOT });
const GENERATED = ["docs/api.md", "docs/builtins.md"];
const PAGES = ["README.md", ...globSync("docs/**/*.md", { cwd: ROOT })].filter((page) => !GENERATED.includes(page));

test.each([
  ["docstrings", docstrings, "Begin them with a noun or a verb in the third person, or with “True if”"],
  ["comments", comments, "Begin them with the noun that they are about"],
  [
    "messages",
    messages,
    "Name the argument, the problem and the remedy, without tell, say, stand, hold, count or nobody",
  ],
])("no %s are against the rules of style", (_kind, find, rule) => {
  expect(SOURCES.length).toBeGreaterThan(500);
  const files = find === comments ? SOURCES.filter((file) => file.endsWith(".ts")) : SOURCES;
  expect(offendersIn(files, find), rule).toEqual([]);
});

test("sources have none of the phrases that the style names", () => {
  expect(offendersIn(SOURCES, (code) => phrasesIn(code, ANYWHERE))).toEqual([]);
});

test("pages have none of the phrases that the style names", () => {
  expect(PAGES.length).toBeGreaterThan(40);
  expect(offendersIn(PAGES, (page) => phrasesIn(prose(page), [...ANYWHERE, ...IN_PAGES]))).toEqual([]);
  // It finds what it looks for, and not in code.
  const page = "It goes on.\n```\nit goes on\n```\n`goes on` is over.\nThere is no file.\n";
  expect(phrasesIn(prose(page), IN_PAGES).map(({ text }) => text)).toHaveLength(2);
});
