import { cpSync } from "node:fs";
import { join } from "node:path";
import { type ScriptedAnswer, type SeenRequest, startModelServer } from "../tests/support/model-server.ts";
import { piHome } from "../tests/support/pi/home.ts";
import { PI_LINES } from "../tests/support/pi/process.ts";
import { EXTENSION } from "../tests/support/pi/scene.ts";
import { piTerminal } from "../tests/support/pi/terminal.ts";
import { ROOT } from "./process.ts";
import { terminalImage } from "./terminal-image.ts";

// Makes docs/pi-long.png and docs/pi-inspect.png: a conversation that has outgrown its window, with a scripted model that reads
// this checkout's documents, and the inspector over it. Prints both screens as text. Needs tmux and chromium.

const SIZE = { columns: 112, rows: 36 };
const WINDOW = 48_000;
const READ = [
  "durability",
  "builtins",
  "architecture",
  "command",
  "configuration",
  "library",
  "mcp",
  "glossary",
  "show",
];

const FIND = "What did one of them say about power loss?";
const ASK = "What do the documents promise after a crash?";
const CELL = `const notes = await llm_query_batch(
  find("crash").matches.slice(0, 4).map(([at]) => "What does this promise? " + peek(at - 200, at + 200)),
  { tools: [] },
);
result = notes.results.map(({ value }) => value);`;

/** Stands for the object that the search before has found. */
const FOUND = "rlm-obj-found";

/** What the model does after a prompt, one after the other; then it answers. */
const STEPS: Readonly<Record<string, readonly { readonly name: string; readonly arguments: object }[]>> = {
  [FIND]: [
    { name: "rlm_search", arguments: { pattern: "Power loss" } },
    { name: "rlm_peek", arguments: { id: FOUND, length: 200, offset: 8091 } },
  ],
  [ASK]: [
    { name: "rlm_load", arguments: { path: "docs" } },
    { name: "rlm_exec", arguments: { code: CELL } },
  ],
};

const server = await startModelServer(answer);
using home = piHome({ url: server.url, files: {}, window: WINDOW });
cpSync(join(ROOT, "docs"), join(home.project, "docs"), { recursive: true, filter: (path) => !path.endsWith(".png") });
const [, line] = PI_LINES;
if (!line) throw new Error("there is no line of Pi");
const env = { ...home.env, COLORTERM: "truecolor" };
try {
  await using pi = piTerminal(line, { home: { ...home, env }, extension: EXTENSION, ...SIZE });
  const show = async (name: string, shown: RegExp) => {
    process.stdout.write(`${await pi.until(shown)}\n`);
    await terminalImage(pi, `docs/${name}.png`, SIZE);
  };
  await pi.start();
  for (const name of READ) {
    await pi.type(`Read docs/${name}.md`);
    await pi.until(new RegExp(`I have read docs/${name}\\.md`));
  }
  await pi.type(FIND);
  await pi.until(/as safe as the disk's fsync, says/);
  await pi.type("/rlm store file");
  await pi.until(/durability.md — /);
  await show("pi-long", /objects outside · .* context \d+ %/);
  await pi.type(ASK);
  await pi.until(/Nothing that was recorded/);
  await pi.type("/rlm inspect");
  await pi.until(/RLM inspector/);
  for (let step = 0; step < 9; step++) await pi.press("Down");
  await show("pi-inspect", /^› +\d llm_query/m);
} finally {
  await server.close();
}

function answer({ index, body }: SeenRequest): ScriptedAnswer {
  const isTurn = (body.tools ?? []).some((tool) => tool.function.name === "bash");
  if (!isTurn) return { text: "A step is on disk before its call is sent." };
  const at = body.messages.findLastIndex(({ role }) => role === "user");
  const prompt = textOf(body.messages[at]?.content);
  const done = body.messages.slice(at).filter(({ role }) => role === "assistant").length;
  const [, path] = /^Read (\S+)$/.exec(prompt) ?? [];
  const steps = path === undefined ? (STEPS[prompt] ?? []) : [{ name: "read", arguments: { path } }];
  const step = steps[done];
  const [found = FOUND] = /rlm-obj-[0-9a-f]{12}/.exec(textOf(body.messages.at(-1)?.content)) ?? [];
  const given = step && { ...step, arguments: JSON.parse(JSON.stringify(step.arguments).replace(FOUND, found)) };
  if (given) return { tools: [{ id: `call_${index}`, ...given }] };
  if (path !== undefined) return { text: `I have read ${path}.` };
  return {
    text:
      prompt === FIND
        ? "It is as safe as the disk's fsync, says docs/durability.md."
        : "Nothing that was recorded is asked again.",
  };
}

/** Text of a content in either of its forms. */
function textOf(content: unknown): string {
  if (!Array.isArray(content)) return String(content);
  return content.map((part: { readonly text?: string }) => part.text ?? "").join("");
}
