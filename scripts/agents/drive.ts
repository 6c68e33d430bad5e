import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { startModelServer } from "../../tests/support/model-server.ts";
import { freePort, mustRun, type RunOptions, run } from "../process.ts";
import { answerTo, type PlannedCall, resultsIn } from "./model.ts";
import type { Agent } from "./table.ts";

/** The place in which an agent is driven. */
interface Place {
  /** A folder of its own. */
  readonly folder: string;
  /** The agent's program, with what stands before its arguments. */
  readonly program: readonly string[];
  /** The command `belay`, likewise. */
  readonly belay: readonly string[];
  /** True if the server is started beside the agent and serves over HTTP; else the agent starts it. */
  readonly isHttp?: boolean;
}

/** The way that an agent took. */
interface Driven {
  readonly seconds: number;
  /** True if the run whose server was killed had the answer of its call nevertheless. */
  readonly wentOn: boolean;
}

const CELL = `let found = find("\\\\d+").matches.length;
const one = await llm_query("one", { tools: [] });
const two = await llm_query("two", { tools: [] });
[found, one, two]`;

const exec = (code: string): PlannedCall => ({ tool: "rlm_exec", args: { code } });

/**
 * Has an agent's scripted model list, load, run cells, query, and run a cell that is killed with its server. A server over HTTP is
 * started again at once. Unless the agent then has the answer, a new run of it makes the same call.
 *
 * @throws Error that says what went otherwise
 */
export async function drive(agent: Agent, { folder, program, belay, isHttp = false }: Place): Promise<Driven> {
  const startedAt = performance.now();
  let plan: readonly PlannedCall[] = [];
  let results: readonly string[] = [];
  let isHeld = true;
  const asked = Promise.withResolvers<void>();
  const subCalls: string[] = [];
  await using model = await startModelServer((request) => {
    const answer = answerTo(request, plan);
    // Requests beside the conversation, such as one for its title, have no results.
    const found = answer ? resultsIn(request) : [];
    if (found.length > results.length) results = found;
    if (answer) return answer;
    const { prompt } = request;
    if (prompt === "one" || prompt === "two") subCalls.push(prompt);
    if (prompt !== "two" || !isHeld)
      return { text: `answer ${prompt === "one" || prompt === "two" ? prompt : "4711"}` };
    asked.resolve();
    return { end: "stuck" };
  });
  const [home, work, pid] = [join(folder, "home"), join(folder, "work"), join(folder, "pid")];
  await write(join(work, "docs/a.txt"), "the code is 4711\n");
  await writeCommand(join(folder, "bin/belay"), belay, pid);
  const env = { ...environment(folder, home), ...agent.env?.(model.url) };
  const [command = "", ...before] = belay;
  const here = { cwd: work, env };
  const served = isHttp ? ["--http", "--port", `${await freePort()}`] : [];
  const flags = [...served, "--model", "local/m", "--base-url", model.url, "--api-key-env", "K", "--root", work];
  await using servers = new AsyncDisposableStack();
  const start = async () => void servers.use(await listening(join(folder, "bin/belay"), ["mcp", ...flags], here));
  const printed = await mustRun(command, [...before, "mcp", ...flags, "--print-config", agent.client], here);
  const entry = printed.stdout.replaceAll("YOUR_TOKEN", TOKEN);
  for (const [path, text] of Object.entries(agent.files(entry, model.url))) await write(join(home, path), text);
  if (isHttp) await start();

  async function runs(...calls: readonly PlannedCall[]): Promise<readonly string[]> {
    plan = calls;
    results = [];
    const isCut = isHeld && calls.length === 1;
    const [executable = "", ...first] = program;
    const args = [...first, ...agent.args("do it", home)];
    const ended = await run("timeout", ["-k", "5", "120", executable, ...args], here);
    if (isCut || results.length === calls.length) return results;
    throw new Error(
      `made ${results.length} of ${calls.length} calls (exit ${ended.code}): ${ended.output.slice(-500)}`,
    );
  }

  const load = { tool: "rlm_load", args: { path: join(work, "docs") } };
  const query = { tool: "rlm_query", args: { prompt: "What is the code?" } };
  const [listed, loaded, counted, queried] = await runs(
    { tool: "rlm_status", args: {} },
    load,
    exec("let n = 41; n"),
    query,
  );
  expectIn(listed, isHttp ? `"session":"${agent.client}-` : '"session":"mcp-', "rlm_status");
  expectIn(loaded, '"document_count":1', "rlm_load");
  expectIn(counted, '"result_json":41', "rlm_exec");
  expectIn(queried, '"success":true', "rlm_query");

  const cut = runs(exec(CELL));
  await Promise.race([asked.promise, cut.then(() => Promise.reject(new Error("ended before its cell asked")))]);
  process.kill(Number(await readFile(pid, "utf8")), "SIGKILL");
  isHeld &&= !isHttp;
  if (isHttp) await start();
  const [told] = await cut;
  isHeld = false;
  const done = '"result_json":[1,"answer one","answer two"]';
  const wentOn = told?.includes(done) === true;
  const last = wentOn ? [] : [exec(CELL)];
  const after = await runs(...last, exec("n + found"));
  if (!wentOn) expectIn(after[0], done, "the cell after the kill");
  expectIn(after.at(-1), '"result_json":42', "the state after the kill");
  // Agents whose client starts the server anew and repeats the call send the second question once more.
  const [one, ...others] = subCalls;
  if (one !== "one" || others.includes("one")) throw new Error(`a recorded answer was asked for again: ${subCalls}`);
  return { seconds: (performance.now() - startedAt) / 1000, wentOn };
}

/** Writes the command that agents start: it leaves its process id in a file. */
async function writeCommand(path: string, belay: readonly string[], pid: string): Promise<void> {
  const quoted = belay.map((word) => `'${word}'`).join(" ");
  await write(path, `#!/bin/sh\necho $$ > '${pid}'\nexec ${quoted} "$@"\n`);
  await chmod(path, 0o755);
}

function environment(folder: string, HOME: string): NodeJS.ProcessEnv {
  const { XDG_CONFIG_HOME: _config, XDG_DATA_HOME: _data, ...inherited } = process.env;
  const PATH = `${join(folder, "bin")}:${process.env.PATH}`;
  return { ...inherited, PATH, HOME, BELAY_HOME: join(folder, "store"), K: "key", BELAY_MCP_TOKEN: TOKEN };
}

const TOKEN = "the-token-of-the-check";

/** Starts a server, and waits until it listens. */
async function listening(program: string, args: readonly string[], { cwd, env }: RunOptions): Promise<AsyncDisposable> {
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "ignore", "pipe"] });
  const gone = once(child, "exit");
  await new Promise<void>((resolve, reject) => {
    let said = "";
    child.stderr.on("data", (piece) => {
      said += piece;
      if (said.includes("Authorization")) resolve();
    });
    child.once("exit", () => reject(new Error(`the server did not start: ${said}`)));
  });
  return {
    async [Symbol.asyncDispose]() {
      child.kill();
      await gone;
    },
  };
}

/** Writes a file, and makes its folders. */
export async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

function expectIn(result: string | undefined, wanted: string, of: string): void {
  if (!result?.includes(wanted)) throw new Error(`${of} has no ${wanted}: ${result?.slice(0, 1_000)}`);
}
