import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderWith } from "../../support/tree.ts";
import { finished, hasTerminal, startOnTerminal } from "./belay.ts";

test.skipIf(!hasTerminal)("a terminal has prompts, completion, a private history and escaped controls", async () => {
  const home = join(folderWith(), "home");
  const terminal = startOnTerminal("repl", home);
  // What to type once the screen, since the last thing typed, ends so.
  const steps: [seen: RegExp, type: string][] = [
    [/no context is loaded.*\n.*\nbelay> ¦$/, "[1,\r"],
    [/\.\.\. ¦$/, "41 + 1]\r"],
    [/\[1, 42\]\nbelay> ¦$/, "print('\\x1b[31mred\\u0007')\r"],
    [/\\x1b\[31mred\\x07\nbelay> ¦$/, "for (;;) {}\r"],
    [/\{\}\n$/, "\x03"],
    [/cancelled\nbelay> ¦$/, "list_"],
    [/list_$/, "\t"],
    [/docs¦?$/, "\x03"],
    [/belay> ¦$/, "\x03"],
    [/\(Ctrl-C again.*\nbelay> ¦$/, "\x03"],
  ];
  let from = 0;
  const run = finished(terminal, (_child, stdout) => {
    const [step] = steps;
    if (!step?.[0].test(screenOf(stdout.slice(from)))) return;
    steps.shift();
    from = stdout.length;
    terminal.stdin.write(step[1]);
  });
  const timeout = setTimeout(() => terminal.kill(), 25_000);
  const { code, stdout } = await run;
  clearTimeout(timeout);
  expect(steps, `the screen was ${JSON.stringify(stdout.slice(from))}`).toEqual([]);
  expect(code).toBe(0);
  const path = join(home, "history");
  expect(readFileSync(path, "utf8").split("\n").slice(0, 2)).toEqual(["[1,", "41 + 1]"]);
  expect([statSync(home).mode & 0o777, statSync(path).mode & 0o777]).toEqual([0o700, 0o600]);
});

/** What a terminal would show, without the moves of readline; `¦` where it puts the cursor behind a prompt: the prompt is then drawn to its end. */
function screenOf(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
  return text.replace(/\x1b\[(?!1G)\d+G/g, "¦").replace(/\x1b\[[\d;?]*[A-Za-z]|\r/g, "");
}
