import { cpSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeEach, expect, test, vi } from "vitest";
import { mustRun, ROOT } from "../../scripts/process.ts";
import { LETTERS, QUESTION, scriptedReply } from "../../src/cli/demo/model.ts";
import { openSession } from "../../src/index.ts";
import { pdf } from "../src/documents/packed.ts";
import { startBatchServer } from "../support/batch-server/index.ts";
import { BUNDLED } from "../support/command.ts";
import { type SeenRequest, startModelServer } from "../support/model-server.ts";
import { folderWith } from "../support/tree.ts";
import { expectShown, type Reader, replay, stepsOf } from "./transcript.ts";

// What README and docs/ show is run as it stands. docs/builtins.md is generated from examples that ran, docs/api.md from types; the transcript of
// `belay demo` has a test beside the command.

const GENERATED = ["docs/builtins.md", "docs/api.md"];
const PAGES = ["README.md", ...globSync("docs/**/*.md", { cwd: ROOT })].filter((page) => !GENERATED.includes(page));

interface Block {
  readonly page: string;
  readonly text: string;
}

function blocks(language: string): Block[] {
  return PAGES.flatMap((page) => {
    const found = readFileSync(join(ROOT, page), "utf8").matchAll(/^```(\w+)\n(.*?)^```$/gms);
    return Array.from(found).flatMap(([, name, text = ""]) => (name === language ? [{ page, text }] : []));
  });
}

/** A folder like the one that a reader has: documents, sources, a log, reviews, letters, a cell. */
function readersFolder(): string {
  const folder = folderWith({
    ...Object.fromEntries(Object.entries(LETTERS).map(([name, text]) => [`letters/${name}`, `${text}\n`])),
    "app.log": LOG,
    "report.pdf": pdf(["Annual report"], ["Sales were flat."], ["Net profit rose by 12 %."]),
    "reviews.txt": "Where is my order?\nIt is broken.\n",
    "scan.js": `const prompts = list_docs("cli").slice(0, 12).map(({ id }) => "What is " + id);
const findings = (await llm_query_batch(prompts, { tools: [] })).results;`,
  });
  for (const part of ["docs", "examples", "src/cli", "src/session"])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  return folder;
}

/** Two million tokens, twelve of whose lines are errors. */
function logText(): string {
  const errors = [
    "payment: card declined",
    "db: connection pool exhausted",
    "upload: file too large",
    "db: deadlock detected",
  ];
  return Array.from({ length: 120_000 }, (_, n) => {
    const time = new Date(Date.UTC(2026, 0, 1) + n * 500).toISOString();
    const error = n % 10_000 === 5000 ? errors[Math.floor(n / 10_000) % errors.length] : undefined;
    return error
      ? `${time} ERROR ${error} (request ${n})\n`
      : `${time} INFO  http: GET /orders/${n} 200 in ${n % 97} ms\n`;
  }).join("");
}

const LOG = logText();

interface ScriptedReader extends Reader, AsyncDisposable {
  readonly requests: readonly SeenRequest[];
}

/** Answers every turn, and every sub-call that it is allowed to. Where labels are asked for, it answers with none. */
async function startReader(): Promise<ScriptedReader> {
  let questions = 0;
  let allowed = Number.POSITIVE_INFINITY;
  let wake = () => {};
  let changed = Promise.resolve();
  const allow = (count: number) => {
    allowed = count;
    wake();
    changed = new Promise((resolve) => {
      wake = resolve;
    });
  };
  allow(allowed);
  const { url, requests, close } = await startModelServer(async (request) => {
    if (isTurn(request)) return { text: answerTo(request.prompt) };
    if (isRepair(request)) return { text: answerTo(questionOf(request)) };
    const number = ++questions;
    while (number > allowed) await changed;
    return { text: said(answerTo(request.prompt), number) };
  });
  let answer = () => {};
  const wait = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const batches = await startBatchServer({
    answer: ({ prompt }) => ({ text: answerTo(prompt) }),
    fate: () => ({ wait }),
  });
  const closeBoth = async () => void (await Promise.all([close(), batches.close()]));
  return {
    ...{ url, requests, allow, [Symbol.asyncDispose]: closeBoth },
    provider: { url: batches.baseUrl("openai-completions"), answer },
    get questions() {
      return questions;
    },
  };
}

/** The answer as real models give it: JSON, a word with a capital and a full stop, in a sentence, after thinking. */
function said(answer: string, number: number): string {
  const word = /^"(\w+)"$/.exec(answer)?.[1];
  if (word === undefined) return answer;
  const forms = [
    answer,
    `${word.charAt(0).toUpperCase()}${word.slice(1)}.`,
    `I would say that it is **${word}**.`,
    `<think>\nIs it "${word}"? Yes.\n</think>\n\n"${word}"`,
  ];
  return forms[number % forms.length] ?? answer;
}

/** Whether a model is asked once more, since its answer did not fit the schema. */
const isRepair = ({ prompt }: SeenRequest) => prompt.startsWith("Your answer does not fit the JSON Schema");

const questionOf = ({ body }: SeenRequest) =>
  body.messages.find(({ role }) => role === "user")?.content?.toString() ?? "";

/** Whether a root model is asked, and not the model of a sub-call. */
const isTurn = ({ body }: SeenRequest) => body.messages[1]?.content?.toString().startsWith(QUESTION) === true;

const cell = (code: string) => `\`\`\`js\n${code}\n\`\`\``;

function answerTo(prompt: string): string {
  if (prompt.startsWith("By how much")) return cell("print(P)");
  if (prompt.includes("Net profit")) return cell('answer("12 %", { cite: find("Net profit.*").matches })');
  if (prompt.startsWith("Label")) return '{ "labels": [] }';
  if (prompt.includes('{"type":"boolean"}')) return String(scriptedReply(prompt) === '"complaint"');
  if (prompt.startsWith("Whose fault")) return prompt.includes(" db: ") ? '"ours"' : '"user"';
  const isScripted = [QUESTION, "[turn ", "Is this letter"].some((words) => prompt.includes(words));
  return isScripted ? scriptedReply(prompt) : "Yes.";
}

let reader: ScriptedReader;
let scene: string;

beforeEach(async () => {
  const before = process.cwd();
  scene = readersFolder();
  reader = await startReader();
  process.chdir(scene);
  vi.stubEnv("BELAY_HOME", join(scene, "home"));
  vi.stubEnv("XDG_CONFIG_HOME", join(scene, "config"));
  vi.stubEnv("BELAY_BASE_URL", reader.url);
  vi.stubEnv("BELAY_SHIPPING_PACE", "0.05");
  return async () => {
    process.chdir(before);
    vi.unstubAllEnvs();
    await reader[Symbol.asyncDispose]();
  };
});

// A page is read from its top: what one transcript has made, the next one finds.
const TRANSCRIPTS = PAGES.map((page) => {
  const texts = blocks("console").filter((block) => block.page === page && !block.text.startsWith("$ belay demo"));
  const steps = texts.flatMap(({ text }) => stepsOf(text));
  return { page, steps };
}).filter(({ steps }) => steps.length > 0);

test.each(TRANSCRIPTS)("$page: its transcripts", async ({ page, steps }) => {
  if (page === "README.md") writeFileSync(join(scene, "letters/13-scan.pdf"), pdf([]));
  for (const step of steps) await replay(step, reader);
  if (page !== "README.md") return;
  // Twelve questions, ten until the process is killed, and the seven that had no answer. Then the same with Ctrl-C.
  expect(reader.questions).toBe(12 + (10 + 7) + (10 + 7));
  expect(reader.requests.filter(isTurn)).toHaveLength(3 + 3);
});

test.each(blocks("js").map(({ page, text }) => [page, text]))("%s: a cell", async (_, text) => {
  await using session = await openSession();
  await session.load("src/cli");
  const answer = await session.exec(text);
  expect(answer).toMatchObject({ success: true, warnings: [] });
  expect(answer.result_json).toMatchObject({ capped: false, first: expect.arrayContaining([expect.any(String)]) });
});

// One process runs them in turn: most of what a process takes goes into loading the library.
test("programs print what is shown beside them", async () => {
  const entries = {
    '"belay-rlm"': "src/index.js",
    '"belay-rlm/tools"': "src/tools/open-tools.js",
    '"belay-rlm/runs"': "src/runs/open-runs.js",
  };
  const programs = blocks("ts");
  programs.forEach(({ text }, n) => {
    const own = Object.entries(entries).reduce(
      (told, [name, file]) => told.replace(name, JSON.stringify(pathToFileURL(join(BUNDLED, file)).href)),
      text,
    );
    writeFileSync(join(scene, `program-${n}.ts`), own);
  });
  const lines = programs.map((_, n) => `await import("./program-${n}.ts");\nconsole.log("end of a program");\n`);
  writeFileSync(join(scene, "all.ts"), lines.join(""));
  const { stdout } = await mustRun(process.execPath, ["all.ts"], { cwd: scene });
  const printed = stdout.split("end of a program\n");
  for (const [n, { page, text }] of programs.entries()) {
    const shown = Array.from(text.matchAll(/\/\/=> (.*)$/gm), ([, line = ""]) => line);
    expect(shown.length, page).toBeGreaterThan(0);
    expectShown(shown, printed[n] ?? "");
  }
});
