import { spawnSync } from "node:child_process";
import { cpSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chdir, cwd } from "node:process";
import { pathToFileURL } from "node:url";
import { beforeEach, expect, test, vi } from "vitest";
import { mustRun, ROOT } from "../../scripts/process.ts";
import { run } from "../../src/cli/run.ts";
import { openSession } from "../../src/index.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { folderWith } from "../support/tree.ts";

// What README and docs/ show is run as it stands. docs/builtins.md is generated from examples that ran; the transcript of
// `belay demo` has a test beside the command.

const PAGES = ["README.md", ...globSync("docs/**/*.md", { cwd: ROOT })].filter((page) => page !== "docs/builtins.md");

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

/** A folder like the one that a reader has: documents, sources, reviews, a cell. */
function readersFolder(): string {
  const folder = folderWith({
    "reviews.txt": "Where is my order?\nIt is broken.\n",
    "scan.js": `const prompts = list_docs("cli").slice(0, 12).map(({ id }) => "What is " + id);
const findings = (await llm_query_batch(prompts, { tools: [] })).results;`,
  });
  for (const part of ["docs", "examples", "src"]) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  return folder;
}

/** Answers every question; where labels are asked for, with none. */
function startReader(): Promise<ModelServer> {
  return startModelServer(({ prompt }) => ({ text: prompt.startsWith("Label") ? '{ "labels": [] }' : "Yes." }));
}

let server: ModelServer;
let scene: string;

beforeEach(async () => {
  const before = cwd();
  scene = readersFolder();
  server = await startReader();
  chdir(scene);
  vi.stubEnv("BELAY_HOME", join(scene, "home"));
  vi.stubEnv("XDG_CONFIG_HOME", join(scene, "config"));
  vi.stubEnv("BELAY_BASE_URL", server.url);
  return async () => {
    chdir(before);
    vi.unstubAllEnvs();
    await server.close();
  };
});

/** One command of a transcript, and the lines that it is shown to print. */
interface Step {
  readonly line: string;
  readonly shown: readonly string[];
  /** It was interrupted with Ctrl-C. */
  readonly isInterrupted: boolean;
}

function stepsOf(text: string): Step[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [line = "", ...output] = part.trimEnd().split("\n");
      return { line, shown: output.filter((shown) => shown !== "^C"), isInterrupted: output.includes("^C") };
    });
}

/** The words of a line, as a shell takes them apart. */
function wordsOf(line: string): string[] {
  return Array.from(
    line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g),
    ([, single, double, bare]) => single ?? double ?? bare ?? "",
  );
}

/** Runs a line of a transcript in this process. Gives what it printed on stdout and stderr, and its exit code. */
async function typed({ line, isInterrupted }: Step): Promise<{ code: number; printed: string }> {
  const written: string[] = [];
  const spies = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, "write").mockImplementation((text) => written.push(String(text)) > 0),
  );
  const asked = server.requests.length;
  const interrupting = isInterrupted
    ? vi
        .waitFor(() => expect(server.requests.length).toBeGreaterThan(asked), { timeout: 30_000, interval: 1 })
        .then(() => process.emit("SIGINT"))
    : null;
  try {
    const [, ...args] = wordsOf(line.replace("http://127.0.0.1:8080/v1", server.url));
    const code = await run(args);
    await interrupting;
    return { code, printed: written.join("") };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

const TRANSCRIPTS = blocks("console").filter(({ text }) => !/^\$ belay demo\n/.test(text));

test.each(TRANSCRIPTS.map(({ page, text }) => [page, stepsOf(text)[0]?.line, text]))("%s: %s", async (_, __, text) => {
  for (const step of stepsOf(text)) {
    // It reads a terminal.
    if (step.line.startsWith("belay repl")) continue;
    if (step.line.includes(" | ")) {
      const belay = `${process.execPath} ${join(ROOT, "src/cli/main.ts")}`;
      const { status } = spawnSync("sh", ["-c", step.line.replace("belay", belay)], { cwd: ROOT });
      expect(status, step.line).toBe(0);
      continue;
    }
    const { code, printed } = await typed(step);
    expect(code, `${step.line}\n${printed}`).toBe(step.isInterrupted ? 130 : 0);
    for (const shown of step.shown) expect(printed).toMatch(patternOf(shown));
  }
});

/** A line of output, in which `…` stands for anything. */
function patternOf(shown: string): RegExp {
  const literal = (part: string) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return new RegExp(shown.split("…").map(literal).join(".*"));
}

test.each(blocks("js").map(({ page, text }) => [page, text]))("%s: a cell", async (_, text) => {
  await using session = await openSession();
  await session.load("src/cli");
  const answer = await session.exec(text);
  expect(answer).toMatchObject({ success: true, warnings: [] });
  expect(answer.result_json).toMatchObject({ capped: false, first: expect.arrayContaining([expect.any(String)]) });
});

test.each(blocks("ts").map(({ page, text }) => [page, text]))("%s: a program", async (_, text) => {
  const library = pathToFileURL(join(ROOT, "src/index.ts")).href;
  writeFileSync(join(scene, "program.ts"), text.replace('"belay-rlm"', JSON.stringify(library)));
  const { stdout } = await mustRun(process.execPath, ["program.ts"], { cwd: scene });
  expect(stdout).toMatch(/^\d+\n$/);
});
