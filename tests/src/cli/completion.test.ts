import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { COMMANDS } from "../../../src/cli/commands/index.ts";
import { offered as offeredFor } from "../../../src/cli/completion/completion.ts";
import { spellings } from "../../../src/cli/flags/flag.ts";
import { openSession } from "../../../src/index.ts";
import { folderWith } from "../../support/tree.ts";
import { belayLine, ENV } from "./belay.ts";
import { belayHere } from "./in-process.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** The words that one bash offers for each of these lines, with the cursor at its end. */
function offered(lines: readonly (readonly string[])[], home: string): string[][] {
  const asked = lines.map((words) => {
    const quoted = words.map((word) => `'${word}'`).join(" ");
    return `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; COMPREPLY=(); _belay
printf "%s\\n" "\${COMPREPLY[@]}"; echo "end of a line"`;
  });
  const script = [
    `belay() { ${belayLine('"$@"')}; }`,
    "source <(belay completion bash)",
    "complete -p belay >/dev/null || exit 1",
    ...asked,
  ].join("\n");
  const env = { ...ENV, BELAY_HOME: home };
  const { status, stdout, stderr } = spawnSync("bash", ["--norc", "-c", script], { encoding: "utf8", env });
  expect([status, stderr]).toEqual([0, ""]);
  const answers = stdout.split("end of a line\n").slice(0, -1);
  return answers.map((words) => words.split("\n").filter((word) => word !== ""));
}

const hasBash = spawnSync("bash", ["--version"]).status === 0;

test.skipIf(!hasBash)("bash completes commands, options, choices and names of sessions", async () => {
  const home = join(folderWith(), "home");
  for (const session of ["letters", "the été"]) {
    await using made = await openSession({ store: home, session });
    await made.exec("1");
  }
  const expected: readonly (readonly [line: string[], words: unknown[]])[] = [
    [["re"], ["repl", "resume"]],
    [
      ["exec", "--max-t"],
      ["--max-tokens", "--max-time-ms"],
    ],
    [
      ["exec", "--format", "j"],
      ["json", "jsonl"],
    ],
    [["exec", "-s", "le"], ["letters"]],
    [["show", "the"], [expect.stringMatching(/^(the\\ été|\$'the .*')$/)]],
    [["exec", "-c", "x"], []],
    [["completion", ""], [...SHELLS]],
    [["help", "do"], ["doctor"]],
    [["show", "--help", "--js"], ["--json"]],
    [
      ["help", "exec", "-"],
      ["--all", "--json"],
    ],
  ];
  const lines = expected.map(([line]) => ["belay", ...line]);
  expect(offered(lines, home)).toEqual(expected.map(([, words]) => words));
});

test("every command and option is offered, with its explanation", () => {
  const commands = offeredFor([""], COMMANDS);
  for (const { name, summary, options } of COMMANDS) {
    expect(commands).toContainEqual([name, summary]);
    const own = offeredFor([name, "-"], COMMANDS);
    for (const option of options) for (const word of spellings(option)) expect(own).toContainEqual([word, option.help]);
  }
  expect(offeredFor(["exec", "-e", "-"], COMMANDS)).toBe("anything");
  expect(offeredFor(["exec", "-c", ""], COMMANDS)).toBe("files");
});

test.each(SHELLS)("the script for %s asks for what it offers", async (shell) => {
  const { code, stdout } = await belayHere(["completion", shell]);
  expect([code, stdout]).toEqual([0, expect.stringContaining("belay completion words -- ")]);
});
