import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { COMMANDS } from "../../../src/cli/commands/index.ts";
import { completionScript, SHELLS } from "../../../src/cli/completion/scripts.ts";
import { openSession } from "../../../src/index.ts";
import { belayLine, ENV, temporaryFolder } from "./belay.ts";

/** What bash offers for a line, with the cursor at its end. */
function offered(words: readonly string[], home: string): string[] {
  const folder = temporaryFolder();
  const script = join(folder, "belay.bash");
  writeFileSync(script, completionScript("bash", COMMANDS));
  const quoted = words.map((word) => `'${word}'`).join(" ");
  const lines = [
    `belay() { ${belayLine('"$@"')}; }`,
    `source '${script}'`,
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
  const home = join(temporaryFolder(), "home");
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
});

test.each(SHELLS)("the script for %s knows every command and option", (shell) => {
  const script = completionScript(shell, COMMANDS);
  for (const { name, options } of COMMANDS) {
    expect(script).toContain(name);
    for (const option of options) expect(script).toContain(shell === "fish" ? `-l ${option.name}` : `--${option.name}`);
  }
  expect(script).toContain("belay completion sessions");
});
