import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { firstly, REMEDIES, remedy, worded } from "../../runtime/remedies.ts";
import { ROOT } from "../../scripts/process.ts";
import { inFlags } from "../../src/cli/render/wording.ts";
import { inPi } from "../../src/pi/wording.ts";

type Remedy = Parameters<typeof remedy>[0];

function names(): Remedy[] {
  const found: Remedy[] = [];
  let name: Remedy;
  for (name in REMEDIES) found.push(name);
  return found;
}

test("a suggestion is said in other words, with the session that it names, also at the beginning of a sentence", () => {
  const wording = { ...REMEDIES, listCheckpoints: "`show *` lists them", discard: "drop it" };
  const said = `${firstly("listCheckpoints", "my (work)")}; ${remedy("listCheckpoints")}, or ${remedy("discard")}.`;
  expect(worded(said, wording)).toBe("`show my (work)` lists them; `show SESSION` lists them, or drop it.");
  expect(worded(`${firstly("discard")}. Nothing else.`, wording)).toBe("Drop it. Nothing else.");
});

test("every remedy has words of its own in the command and in Pi, and none is left in the library's", () => {
  for (const name of names()) {
    const suggestion = `Do this: ${remedy(name)}.`;
    expect(inFlags(suggestion), name).not.toBe(suggestion);
    expect(inPi(suggestion), name).not.toBe(suggestion);
    // A line for a terminal outside of Pi has its flags.
    expect(inPi(suggestion).replace(/`npx belay-rlm [^`]*`/, ""), name).not.toMatch(
      /(?<![\w-])--[a-z]|belay (?!rm|doctor)[a-z]|\(\)/,
    );
  }
});

test("only the command, its MCP server and the commands of Pi name flags and subcommands", () => {
  const files = globSync("{runtime,builtins,src}/**/*.ts", { cwd: ROOT }).filter(
    (file) =>
      !/^src\/(?:cli|settings|mcp|view)\/|^runtime\/remedies|^src\/pi\/(?:wording|view\/)/.test(file) &&
      !OF_OTHERS.test(file),
  );
  const found = files.flatMap((file) =>
    readFileSync(join(ROOT, file), "utf8")
      .split("\n")
      .map((line, n) => [`${file}:${n + 1}`, line] as const)
      .filter(([, line]) => !/^\s*(?:\/\/|\/?\*)/.test(line) && FLAG_OR_COMMAND.test(line) && !OF_SERVERS.test(line)),
  );
  expect(files.length).toBeGreaterThan(100);
  expect(found).toEqual([]);
});

/**
 * Files that name the flags of Node and V8, of git and of programs that make documents readable, and readers of inputs, which
 * only `belay batch` calls.
 */
const OF_OTHERS =
  /^runtime\/quickjs\/build\.ts$|^src\/(?:documents\/(?:children|errors|convert|(?:sheets\/)?xlsx)\.ts$|models\/agents\/worktree\.ts$|runs\/inputs\/)/;

/** A line that names the flags of a model's server. */
const OF_SERVERS = /\b(?:llama-server|vLLM)\b/;

const FLAG_OR_COMMAND = /(?<![\w(-])--[a-z]{3}|\bbelay (?:show|rm|resume|sessions|fork|doctor|gc|exec|query)\b/;
