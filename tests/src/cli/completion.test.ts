import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { COMMANDS } from "../../../src/cli/commands/index.ts";
import { offered as offeredFor } from "../../../src/cli/completion/completion.ts";
import { spellings } from "../../../src/cli/flags/flag.ts";
import { openSession } from "../../../src/index.ts";
import { folderWith } from "../../support/tree.ts";
import { belay, belayLine, ENV } from "./belay.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** The words that bash offers for a line, with the cursor at its end. */
function offered(words: readonly string[], home: string): string[] {
  const quoted = words.map((word) => `'${word}'`).join(" ");
  const lines = [
    `belay() { ${belayLine('"$@"')}; }`,
    "source <(belay completion bash)",
    "complete -p belay >/dev/null || exit 1",
    `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _belay`,
    `printf "%s\\n" "\${COMPREPLY[@]}"`,
  ];
  const env = { ...ENV, BELAY_HOME: home };
  const { status, stdout, stderr } = spawnSync("bash", ["--norc", "-c", lines.join("\n")], { encoding: "utf8", env });
  expect([status, stderr]).toEqual([0, ""]);
  return stdout.split("\n").filter((word) => word !== "");
}

const hasBash = spawnSync("bash", ["--version"]).status === 0;

test.skipIf(!hasBash)("bash completes commands, options, choices and names of sessions", async () => {
  const home = join(folderWith(), "home");
  for (const session of ["letters", "the été"]) {
    await using made = await openSession({ store: home, session });
    await made.exec("1");
  }
  expect(offered(["belay", "re"], home)).toEqual(["repl", "resume"]);
  expect(offered(["belay", "exec", "--max-t"], home)).toEqual(["--max-tokens", "--max-time-ms"]);
  expect(offered(["belay", "exec", "--format", "j"], home)).toEqual(["json", "jsonl"]);
  expect(offered(["belay", "exec", "-s", "le"], home)).toEqual(["letters"]);
  expect(offered(["belay", "show", "the"], home)).toEqual([expect.stringMatching(/^(the\\ été|\$'the .*')$/)]);
  expect(offered(["belay", "exec", "-c", "x"], home)).toEqual([]);
  expect(offered(["belay", "completion", ""], home)).toEqual([...SHELLS]);
  expect(offered(["belay", "help", "do"], home)).toEqual(["doctor"]);
  expect(offered(["belay", "show", "--help", "--js"], home)).toEqual(["--json"]);
  // Scripts that an earlier build has made ask for nothing else.
  const { stdout } = await belay(["completion", "sessions"], { home });
  expect(stdout.split("\n").sort()).toEqual(["", "letters", "the été"]);
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
  const { code, stdout } = await belay(["completion", shell]);
  expect([code, stdout]).toEqual([0, expect.stringContaining("belay completion words -- ")]);
});
