import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "rolldown/utils";
import { expect, test } from "vitest";
import { ROOT } from "../../scripts/process.ts";
import { COMMANDS } from "../../src/cli/commands/index.ts";

// A line to type that a template puts together runs whatever a name in it says, unless the name is quoted. `commandLine` makes such
// lines of words; elsewhere `shellWord` and `quoted` make a word of a text.

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [name: string]: unknown;
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value;

/** All nodes of a program. */
function nodesIn(program: unknown): Node[] {
  const found: Node[] = [];
  const pending = [program];
  for (let next = pending.pop(); pending.length > 0 || next !== undefined; next = pending.pop()) {
    if (typeof next !== "object" || next === null) continue;
    if (isNode(next)) found.push(next);
    pending.push(...Object.values(next));
  }
  return found;
}

const PROGRAMS = "tar|curl|mkdir|gzip|zstd|iconv|jq|sqlite3|soffice|ssh|export";
const LINE = new RegExp(
  `(?:^|[^\\w/.-])(?:(?:npx )?belay(?:-rlm)? (?:${COMMANDS.map(({ name }) => name).join("|")})|(?:${PROGRAMS}))(?: [^\`\\n]*)?[ =@/]$|\`[^\`\\n]*(?: |\`)--?[a-z][\\w-]*[ =]$`,
);
/** Calls that give words of a shell. */
const QUOTES = new Set(["shellWord", "quoted", "commandLine"]);

/** Calls that give the words of a cure about their second argument. */
const REMEDIES = new Set(["remedy", "firstly"]);

const isQuoted = (node: unknown) =>
  isNode(node) && node.type === "CallExpression" && isNode(node.callee) && QUOTES.has(String(node.callee.name));

/** Templates that are no lines to type, or whose parts cannot be anything but a number or an address. */
const ALLOWED = new Map([
  ["export async function ", "src/eval/suites.ts: code of a made-up file"],
  ["soffice --headless --convert-to ", "src/documents/errors.ts: one of three extensions"],
  ["sqlite3 X .recover | sqlite3 ", "src/documents/errors.ts: a name of its own"],
  ["the line of belay batch that began ", "src/cli/jobs/change-run.ts: a sentence"],
  ["Run `npm install -g ", "src/store/server-packages.ts: names of its own"],
  ["ssh -N -L ", "src/cli/store/view.ts: its port and host, and the address by which the user came"],
]);

function unquotedIn(code: string, file: string): string[] {
  const found: string[] = [];
  for (const node of nodesIn(parseSync(file, code).program)) {
    if (node.type === "TemplateLiteral" && Array.isArray(node.quasis) && Array.isArray(node.expressions)) {
      let before = "";
      for (const [at, expression] of node.expressions.entries()) {
        before += node.quasis[at].value.cooked;
        if (
          LINE.test(before) &&
          !isQuoted(expression) &&
          ![...ALLOWED.keys()].some((start) => before.startsWith(start))
        )
          found.push(`${file}: ${before}\${…}`);
        before += "X";
      }
    }
    if (node.type === "CallExpression" && isNode(node.callee) && REMEDIES.has(String(node.callee.name))) {
      const [name, subject] = Array.isArray(node.arguments) ? node.arguments : [];
      const isLine = ["fork", "removeSession", "listCheckpoints", "thenLoad", "nameModels"].includes(
        String(name?.value),
      );
      if (isLine && subject !== undefined && !isQuoted(subject))
        found.push(`${file}: ${node.callee.name}("${name.value}", …)`);
    }
  }
  return found;
}

/** What quotes for all others has tests of its own. */
const OF_SHELLS = join("src", "platform", "shell-word.ts");

test("only shell-word.ts knows how a shell joins lines and sets variables", () => {
  const files = globSync(["src/**/*.ts", "runtime/**/*.ts", "builtins/**/*.ts"], { cwd: ROOT });
  const shell = /["`][^"`\n]*&& (?:belay|tar|cd) |["`](?:export [A-Z_]+=|\$env:)/;
  const found = files.filter((file) => shell.test(readFileSync(join(ROOT, file), "utf8")));
  expect(found.filter((file) => file !== OF_SHELLS)).toEqual([]);
  expect(shell.test('"export BELAY_MODEL=x"') && shell.test("`mkdir a && tar -xf b`")).toBe(true);
});

test("a name in a line to type is quoted, wherever the line is put together", () => {
  const all = globSync(["src/**/*.ts", "runtime/**/*.ts", "builtins/**/*.ts"], { cwd: ROOT });
  const files = all.filter((file) => file !== OF_SHELLS);
  const found = files.flatMap((file) => {
    const code = readFileSync(join(ROOT, file), "utf8");
    // Most files have no such line, and to read them all takes seconds.
    return new RegExp(`(?:belay(?:-rlm)? [a-z]|(?:remedy|firstly)\\(|(?:${PROGRAMS}) |\`-)`).test(code)
      ? unquotedIn(code, file)
      : [];
  });
  expect(found, "Make the line with commandLine, or the word with shellWord").toEqual([]);
  // It finds what it looks for.
  const name = ["$", "{name}"].join("");
  const bad = `const a = \`belay show ${name} --all\`; const b = \`tar -xf ${name}\`; firstly("fork", row.id);`;
  expect(unquotedIn(bad, "bad.ts")).toHaveLength(3);
});
