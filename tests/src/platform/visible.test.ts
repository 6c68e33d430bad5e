import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DEFAULT_EXEC_LIMITS, RlmError } from "../../../runtime/index.ts";
import { openRunProgress, openTally } from "../../../src/cli/batch/run-progress.ts";
import { commandLine } from "../../../src/cli/flags/usage.ts";
import { showWarnings } from "../../../src/cli/render/envelope.ts";
import { failureJson, showError, showFailure } from "../../../src/cli/render/failure.ts";
import { skippedLines } from "../../../src/cli/render/loaded.ts";
import { openProgress } from "../../../src/cli/render/progress.ts";
import { processClock } from "../../../src/cli/render/status-line.ts";
import { table } from "../../../src/cli/render/table.ts";
import { type Output, outputOver, type Terminal, writeData } from "../../../src/cli/render/terminal.ts";
import { showValue } from "../../../src/cli/render/value.ts";
import { showMemory } from "../../../src/cli/repl/dot-commands.ts";
import { skippedStats } from "../../../src/context/index.ts";
import { answerOf } from "../../../src/mcp/answer.ts";
import { progressMessage } from "../../../src/mcp/call.ts";
import { harmless, oneLine } from "../../../src/pi/view/texts.ts";
import { displayName } from "../../../src/platform/ids.ts";
import { escapedJson, inLine, jsonText, visible } from "../../../src/platform/visible.ts";
import { openScripted } from "../../support/scripted-session.ts";
import { folderWith } from "../../support/tree.ts";
import { belayHere } from "../cli/in-process.ts";

/** Each character by what it does to a reader. */
const HOSTILE = {
  "turns the direction": "\u202e",
  "turns it in a part": "\u2067",
  "marks a direction": "\u200f",
  "has no width": "\u200b",
  "joins what does not join": "\u200d",
  "is a byte order mark": "\ufeff",
  "ends a line": "\u2028",
  "ends a paragraph": "\u2029",
  "steers a terminal": "\u001b",
  "steers it by eight bits": "\u009b",
  "goes back": "\u0008",
  "goes to the line's beginning": "\r",
  "is a tag": "\u{e0041}",
  "varies a letter": "\ufe01",
  "is a soft hyphen": "\u00ad",
  "fills Hangul": "\u3164",
  annotates: "\ufff9",
  "is half a pair": "\ud800",
} as const;

const error = (message: string) => new RlmError("path_not_found", message, { suggestion: `Look at ${message}.` });

/** Everywhere a person reads a text that a guest, model, file, provider or row may have made. */
const DOORS: { readonly [door: string]: (text: string, terminal: Terminal) => unknown } = {
  "a table": (text, { stdout }) => stdout.write(table([["name"], [text]], ["left"], stdout).join("\n")),
  "an error": (text, terminal) => showFailure(error(text), terminal),
  "an error of a cell": (text, terminal) =>
    showError({ error_code: "js_error", traceback: text, suggestion: text }, null, terminal),
  "an error as JSON": (text) => failureJson(error(text), null),
  "a warning": (text, terminal) => showWarnings([text], DEFAULT_EXEC_LIMITS, terminal),
  "what was skipped": (text, { stderr }) =>
    stderr.write(skippedLines(skippedStats([{ path: text, reason: "binary" }])).join("\n")),
  "what could not be read": (text, { stderr }) =>
    stderr.write(skippedLines(skippedStats([{ path: text, reason: text }])).join("\n")),
  "JSON of a result": (text, { stdout }) => showValue({ [text]: [text] }, stdout),
  "a place": (text, { stdout }) => showValue([{ id: text, line: 1, column: 1, text }], stdout),
  progress: (text, { stderr }) => {
    let at = 0;
    const progress = openProgress(stderr, { ...processClock, now: () => (at += 5000) }, false);
    progress.begin();
    progress.report({ kind: "notice", text });
    progress.end();
  },
  "what a run says": (text, { stderr }) => openRunProgress(stderr, processClock, "text").say(text),
  "what a run says as JSON": (text, { stderr }) => openRunProgress(stderr, processClock, "json").say(text),
  "what a worker says": (text, { stderr }) => openTally(stderr, processClock, false).say(text),
  "a session's name": (text, { stdout }) => stdout.write(displayName({ id: "", name: text })),
  "a line to type": (text, { stderr }) => stderr.write(commandLine(["show", text])),
  "a row or page in Pi": (text) => harmless(text),
  "a line in Pi": (text) => oneLine(text, 60),
  "an answer over MCP": (text) =>
    answerOf({ success: true, text }, [], "", { bytes: 10_000, isEscaped: false }).content[0]?.text,
  "progress over MCP": (text) =>
    progressMessage({ ...{ name: "", elapsed_ms: 0, turn: null, child: null, calls: null, load: null }, notice: text }),
};

/** What a text became behind a door, on a terminal or in a pipe. */
function behind(door: (text: string, terminal: Terminal) => unknown, text: string, isTTY: boolean): string {
  let written = "";
  const output = outputOver({ isTTY, columns: 200, write: (part) => (written += part) }, { NO_COLOR: "1" });
  const answer = door(text, { stdout: output, stderr: output });
  return `${written}${answer instanceof Promise || answer === undefined ? "" : String(answer)}`;
}

for (const [door, show] of Object.entries(DOORS)) {
  test(`${door} shows hostile characters as code points`, () => {
    for (const [what, character] of Object.entries(HOSTILE)) {
      for (const isTTY of [true, false]) {
        // The progress line clears itself with control sequences of its own.
        const shown = behind(show, `a${character}b`, isTTY).replaceAll("\r\u001b[K", "");
        expect(shown.includes(character) ? what : "", `${door} on ${isTTY ? "a terminal" : "a pipe"}`).toBe("");
        expect(shown.toLowerCase()).toMatch(/a(\\+[xu]\{?[0-9a-f]+\}?|\\+[rb]| )+b/);
      }
    }
  });
}

const NAMES = Object.entries(DOORS).filter(([door]) => !/cell|row or page|JSON of/.test(door));

test("a name with a line feed is one line behind each door", () => {
  for (const [door, show] of NAMES) {
    const lines = (text: string) => behind(show, text, false).trimEnd().split("\n").length;
    expect(lines("a\nb"), door).toBe(lines("ab"));
  }
});

test("an answer over MCP keeps to its size when characters become escapes", () => {
  const text = "\u202e".repeat(20_000);
  const [answer] = answerOf({ success: true, text }, [], "", { bytes: 10_000, isEscaped: false }).content;
  expect(Buffer.byteLength(answer?.text ?? "")).toBeLessThanOrEqual(10_000);
});

test("writing that joins, emoji, line feeds and tabs stay", () => {
  for (const text of ["👩‍👩‍👧 ❤️ 1️⃣ 👍🏽", "می‌خواهم", "क्‍ष", "שלום עולם", "a\n\tb", "e\u0301 é 漢字 \u{20000}"]) {
    expect(visible(text)).toBe(text);
  }
  expect(inLine("a\n\tb")).toBe("a\\n\\tb");
  expect(visible("\u{e0041}\u202e\u009b\r")).toBe("\\u{e0041}\\u202e\\x9b\\r");
});

test("JSON stands for the same with its characters escaped", () => {
  const value = Object.fromEntries(
    Object.entries(HOSTILE).map(([what, character]) => [`${what}${character}`, character]),
  );
  expect(JSON.parse(jsonText(value))).toEqual(value);
  expect(JSON.parse(escapedJson(JSON.stringify(value)))).toEqual(value);
});

test("a line to type is read by a shell as it was typed", () => {
  expect(commandLine(["exec", "-e", "print('a\\b')\nx\u202e\u{e0041}"])).toBe(
    "belay exec -e $'print(\\'a\\\\b\\')\\nx\\u202e\\U000e0041'",
  );
});

test("data goes into a pipe as it is, but for halves of characters, which no pipe can have", () => {
  const text = Object.values(HOSTILE).join("");
  expect(behind((data, { stdout }) => writeData(stdout, data), text, false)).toBe(text.replace("\ud800", "\\ud800"));
  expect(behind((data, { stdout }) => writeData(stdout, data), text, true)).toBe(visible(text));
});

test("the keys and values of memory are a line each", async () => {
  const { session } = await openScripted(() => "");
  await session.exec(`memory.put("a\\nb\\u202e", "c\\nd\\u202e")`);
  const written: string[] = [];
  const output: Output = outputOver({ isTTY: true, columns: 200, write: (part) => written.push(part) }, {});
  await showMemory(session, output);
  expect(written.join("")).toMatch(/^a\\nb\\u202e +\d+ bytes +"c\\nd\\u202e"\n$/);
});

test("folders, documents and prompts with such names are shown by every command that names them", async () => {
  const home = join(folderWith(), "home");
  const name = "do\u202ecs\nno sessions";
  const folder = join(folderWith(), name);
  mkdirSync(folder);
  writeFileSync(join(folder, "a\u202e\nb.md"), "text");
  writeFileSync(join(folder, "bin\u202e\nary"), "\0");
  const cell = "print('\\u202e'); list_docs()[0].id // \u202e";
  const ran = await belayHere(["exec", "-e", cell, "-c", folder, "--session", "s"], { home });
  expect(ran).toMatchObject({ code: 0, stdout: "\u202e\na\u202e\nb.md\n" });
  expect(ran.stderr).toContain("bin\\u202e\\nary");
  for (const args of [["sessions"], ["show", "s"], ["show", "s", "--last"], ["exec", "-e", "1", "-c", `${folder}x`]]) {
    const { stdout, stderr } = await belayHere(args, { home });
    expect(`${stdout}${stderr}`).toContain("\\u202e");
    expect(`${stdout}${stderr}`).not.toMatch(/\u202e|^no sessions/m);
    const json = await belayHere([...args, "--json"], { home });
    expect(json.stdout).not.toContain("\u202e");
    expect(json.stdout.trimEnd().split("\n")).toHaveLength(1);
  }
});

test("what a command prints as JSON is escaped wherever it is written", () => {
  const bypass = /writeRaw\([^;]*JSON\.stringify/;
  const files = globSync("src/cli/**/*.ts").filter((path) => bypass.test(readFileSync(path, "utf8")));
  expect(files).toEqual([]);
});
