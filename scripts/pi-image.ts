import { cpSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../tests/support/model-server.ts";
import { piHome } from "../tests/support/pi/home.ts";
import { PI_LINES } from "../tests/support/pi/process.ts";
import { EXTENSION } from "../tests/support/pi/scene.ts";
import { piTerminal } from "../tests/support/pi/terminal.ts";
import { ROOT } from "./process.ts";
import { terminalImage } from "./terminal-image.ts";

// Makes docs/pi.png: Pi in a terminal of tmux with a scripted model, in the middle of a cell. Needs tmux and chromium.

const COLUMNS = 112;
const ROWS = 33;

const FIRST = `const { matches } = find("crash|SIGKILL|power cut", "i");
const places = matches.map(([start]) => peek(start - 30, start + 50));
print(places[0]);
result = { mentions: matches.length };`;

const SECOND = `const parts = list_docs().map(({ id }) => peek_doc(id, 0, 4000));
const notes = await llm_query_batch(
  parts.map((part) => ({ prompt: "What does this promise after a crash?\\n" + part })),
  { tools: [] },
);
result = { promises: notes.results.map(({ value }) => value) };`;

const { promise: never } = Promise.withResolvers<void>();
let subCalls = 0;
const server = await startModelServer(async ({ body }) => {
  const isTurn = (body.tools ?? []).some((tool) => tool.function.name === "bash");
  if (!isTurn) {
    if (++subCalls > 6) await never;
    return { text: "A step is on disk before its call is sent.", usage: { prompt: 1100, completion: 40 } };
  }
  const answers = body.messages.filter(({ role }) => role === "assistant").length;
  const call = (name: string, args: object) => ({ tools: [{ id: `call_${answers}`, name, arguments: args }] });
  if (answers === 0) return call("rlm_load", { path: join(home.project, "docs") });
  return answers === 1 ? call("rlm_exec", { code: FIRST }) : call("rlm_exec", { code: SECOND });
});
using home = piHome({ url: server.url, files: {} });
cpSync(join(ROOT, "docs"), join(home.project, "docs"), { recursive: true, filter: (path) => !path.endsWith(".png") });
const [, line] = PI_LINES;
if (!line) throw new Error("there is no line of Pi");
const env = { ...home.env, COLORTERM: "truecolor" };
try {
  await using pi = piTerminal(line, { home: { ...home, env }, extension: EXTENSION, columns: COLUMNS, rows: ROWS });
  await pi.start();
  await pi.type("What do these documents promise after a crash?");
  await pi.until(/● rlm_exec running \d+ s · 6 done · 5 running/);
  await pi.press("C-o");
  await pi.until(/peek_doc/);
  await terminalImage(pi, "docs/pi.png", { columns: COLUMNS, rows: ROWS });
} finally {
  await server.close();
}
