import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { startModelServer } from "../../tests/support/model-server.ts";
import { mustRun, run } from "../process.ts";
import { answerTo, type PlannedCall, resultsIn } from "./model.ts";
import type { Agent } from "./table.ts";

/** The place in which an agent is driven. */
export interface Place {
  /** A folder of its own. */
  readonly folder: string;
  /** The agent's program, with what stands before its arguments. */
  readonly program: readonly string[];
  /** The command `belay`, likewise. */
  readonly belay: readonly string[];
}

const CELL = `let found = find("\\\\d+").matches.length;
const one = await llm_query("one", { tools: [] });
const two = await llm_query("two", { tools: [] });
[found, one, two]`;

const exec = (code: string): PlannedCall => ({ tool: "rlm_exec", args: { code } });

/**
 * Has an agent's scripted model list, load, run cells, query, and run a cell that is killed with its server. A new run of
 * the agent makes the same call. Gives the seconds that it took.
 *
 * @throws Error that says what went otherwise
 */
export async function drive(agent: Agent, { folder, program, belay }: Place): Promise<number> {
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
  const quoted = belay.map((word) => `'${word}'`).join(" ");
  await write(join(folder, "bin/belay"), `#!/bin/sh\necho $$ > '${pid}'\nexec ${quoted} "$@"\n`);
  await chmod(join(folder, "bin/belay"), 0o755);
  const { XDG_CONFIG_HOME: _config, XDG_DATA_HOME: _data, ...inherited } = process.env;
  const PATH = `${join(folder, "bin")}:${process.env.PATH}`;
  const env = {
    ...inherited,
    PATH,
    HOME: home,
    BELAY_HOME: join(folder, "store"),
    K: "key",
    ...agent.env?.(model.url),
  };
  const flags = ["--model", "local/m", "--base-url", model.url, "--api-key-env", "K", "--root", work];
  const [command = "", ...before] = belay;
  const here = { cwd: work, env };
  const printed = await mustRun(command, [...before, "mcp", ...flags, "--print-config", agent.client], here);
  for (const [path, text] of Object.entries(agent.files(printed.stdout, model.url)))
    await write(join(home, path), text);

  async function runs(...calls: readonly PlannedCall[]): Promise<readonly string[]> {
    plan = calls;
    results = [];
    const [executable = "", ...first] = program;
    const args = [...first, ...agent.args("do it", home)];
    const ended = await run("timeout", ["-k", "5", "120", executable, ...args], here);
    if (isHeld && plan.length === 1) return results;
    if (results.length === calls.length) return results;
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
  expectIn(listed, '"session":"mcp-', "rlm_status");
  expectIn(loaded, '"document_count":1', "rlm_load");
  expectIn(counted, '"result_json":41', "rlm_exec");
  expectIn(queried, '"success":true', "rlm_query");

  const cut = runs(exec(CELL));
  await Promise.race([asked.promise, cut.then(() => Promise.reject(new Error("ended before its cell asked")))]);
  process.kill(Number(await readFile(pid, "utf8")), "SIGKILL");
  await cut;
  isHeld = false;
  const [again, after] = await runs(exec(CELL), exec("n + found"));
  expectIn(again, '"result_json":[1,"answer one","answer two"]', "the cell after the kill");
  expectIn(after, '"result_json":42', "the state after the kill");
  // Agents whose client starts the server anew and repeats the call send the second question once more.
  const [one, ...others] = subCalls;
  if (one !== "one" || others.includes("one")) throw new Error(`a recorded answer was asked for again: ${subCalls}`);
  return (performance.now() - startedAt) / 1000;
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

function expectIn(result: string | undefined, wanted: string, of: string): void {
  if (!result?.includes(wanted)) throw new Error(`${of} has no ${wanted}: ${result?.slice(0, 1_000)}`);
}
