import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startModelServer } from "../tests/support/model-server.ts";
import { answerTo, type PlannedCall, resultsIn } from "./agents/model.ts";
import { install, pack } from "./package.ts";
import { mustRun, ROOT } from "./process.ts";

// The packed package in frameworks from npm: each program of examples/hosts compiles under `strict`, and has a scripted model load, and
// run a cell during which it is killed. The same line is typed again. Usage: npm run verify -- hosts ai-sdk mastra (default: all)

/** Packages of each framework. */
const HOSTS: Readonly<Record<string, readonly string[]>> = {
  "ai-sdk": ["ai", "@ai-sdk/openai-compatible"],
  "openai-agents": ["@openai/agents", "openai", "zod"],
  langchain: ["langchain", "@langchain/core", "@langchain/openai"],
  mastra: ["@mastra/core"],
  ax: ["@ax-llm/ax"],
  genkit: ["genkit", "@genkit-ai/compat-oai"],
  agentkit: ["@inngest/agent-kit", "inngest", "zod"],
  adk: ["@google/adk"],
  anthropic: ["@anthropic-ai/sdk"],
};

/** As a careful program compiles. What the frameworks' own declarations say of each other is theirs. */
const STRICT = [
  ...["--strict", "--exactOptionalPropertyTypes", "--skipLibCheck", "--target", "es2022", "--module", "nodenext"],
  ...["--types", "node", "--typeRoots", join(ROOT, "node_modules/@types")],
];

const PRINTED_UNITS = 2000;
const WORDS = ["one", "two", "three", "four"];
const CELL = `var said = []; for (const word of ${JSON.stringify(WORDS)}) said.push(await llm_query(word, { tools: [] })); said`;
const PLAN: readonly PlannedCall[] = [
  { tool: "rlm_load", args: { path: "." } },
  { tool: "rlm_exec", args: { code: CELL } },
];

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(HOSTS);
const folder = await mkdtemp(join(tmpdir(), "belay-hosts-"));
try {
  const tarball = await pack(folder);
  for (const name of names) console.log(`${name}: ${await said(name, tarball)}`);
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

async function said(name: string, tarball: string): Promise<string> {
  const packages = HOSTS[name];
  if (!packages) return `skipped, there is no such host; there are ${Object.keys(HOSTS).join(", ")}`;
  const place = join(folder, name);
  await mkdir(place);
  try {
    await install(place, tarball, ...packages);
  } catch (error) {
    return `skipped, it cannot be installed: ${error instanceof Error ? error.message.split("\n")[0] : error}`;
  }
  try {
    await copyFile(join(ROOT, "examples/hosts", `${name}.ts`), join(place, "host.mts"));
    await mustRun("tsc", ["--noEmit", ...STRICT, "host.mts"], { cwd: place });
    return await killed(place);
  } catch (error) {
    process.exitCode = 1;
    return `FAILED, ${error instanceof Error ? error.message : error}`;
  }
}

/** Runs a host until its cell asks the third of four questions, kills it, and types the line again. */
async function killed(place: string): Promise<string> {
  const work = join(place, "work");
  await mkdir(work);
  await writeFile(join(work, "a.txt"), "the code is 4711\n");
  const reached = Promise.withResolvers<void>();
  const asked: string[] = [];
  let results: readonly string[] = [];
  await using server = await startModelServer((request) => {
    const answer = answerTo(request, PLAN) ?? (WORDS.includes(request.prompt) ? null : { text: "nothing offered" });
    if (answer) results = resultsIn(request);
    if (answer) return answer;
    asked.push(request.prompt);
    if (request.prompt !== "three" || asked.length > 3) return { text: request.prompt.toUpperCase() };
    reached.resolve();
    return { end: "stuck" };
  });
  const origin = server.url.replace(/\/v1$/, "");
  const env = {
    ...process.env,
    ...{ OPENAI_BASE_URL: server.url, OPENAI_API_KEY: "key", MODEL: "scripted" },
    ...{ ANTHROPIC_BASE_URL: origin, ANTHROPIC_API_KEY: "key" },
    ...{ GOOGLE_GEMINI_BASE_URL: origin, GEMINI_API_KEY: "key", AGENT_MODEL: "gemini-scripted" },
  };
  let printed = "";
  const start = () => {
    const host = spawn(process.execPath, ["../host.mts", "What do they say?"], { cwd: work, env });
    for (const stream of [host.stdout, host.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        printed = `${printed}${text}`.slice(-PRINTED_UNITS);
      });
    }
    return host;
  };
  const first = start();
  const ended = once(first, "exit");
  await Promise.race([reached.promise, ended]);
  if (first.exitCode !== null) throw new Error(`it ended before its cell\n${printed}`);
  first.kill("SIGKILL");
  await ended;
  const [code] = await once(start(), "exit");
  const requests = WORDS.map((word) => `${word} ${asked.filter((prompt) => prompt === word).length}`).join(", ");
  const isRight = code === 0 && results.at(-1)?.includes("FOUR") && requests === "one 1, two 1, three 2, four 1";
  if (!isRight) throw new Error(`exit ${code}, requests ${requests}\n${printed}`);
  return `compiles; load, exec, kill -9, the same line again: requests ${requests}`;
}
