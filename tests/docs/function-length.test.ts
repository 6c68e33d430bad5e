import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "rolldown/utils";
import { expect, test } from "vitest";
import { ROOT } from "../../scripts/process.ts";

/** Lines that a function may have at the most. */
const LIMITS = [
  { files: ["runtime/**/*.ts"], lines: 80 },
  { files: ["runtime/guest/**/*.js"], lines: 80 },
  { files: ["src/session/**/*.ts"], lines: 80 },
  { files: ["src/!(session)/**/*.ts", "{builtins,scripts,campaigns,bench}/**/*.{ts,js}"], lines: 100 },
] as const;

const SHOWN = 10;

interface Found {
  readonly place: string;
  readonly lines: number;
}

interface FunctionNode {
  readonly start: number;
  readonly end: number;
}

/** Every function of a file with its length. A guest file is one closure, which is not counted. */
function functionsIn(file: string): Found[] {
  const source = readFileSync(join(ROOT, file), "utf8");
  const { program } = parseSync(file, source);
  const lineAt = (offset: number) => source.slice(0, offset).split("\n").length;
  const isGuest = file.endsWith(".guest.js");
  const found: Found[] = [];
  const add = ({ start, end }: FunctionNode) => {
    const [first, last] = [lineAt(start), lineAt(end)];
    const isClosure = isGuest && last - first > source.split("\n").length - 8;
    if (!isClosure) found.push({ place: `${file}:${first}`, lines: last - first + 1 });
  };
  new Visitor({ FunctionDeclaration: add, FunctionExpression: add, ArrowFunctionExpression: add }).visit(program);
  return found;
}

test.each(LIMITS)("no function of $files is longer than $lines lines", ({ files, lines }) => {
  const longest = globSync([...files], { cwd: ROOT })
    .flatMap(functionsIn)
    .sort((a, b) => b.lines - a.lines)
    .slice(0, SHOWN);
  console.log(longest.map((found) => `${found.lines}  ${found.place}`).join("\n"));
  expect(longest.filter((found) => found.lines > lines)).toEqual([]);
});
