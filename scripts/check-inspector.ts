import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ModelServer, startModelServer } from "../tests/support/model-server.ts";
import { install, installPacked } from "./package.ts";
import { type Finished, run } from "./process.ts";

// The packed package as a server of the MCP Inspector's command, which starts a server process for each call. It is fetched from
// npm and is no development dependency: it brings a web application. Usage: npm run verify -- inspector 2.12.0

const [, , version = "2.12.0"] = process.argv;
const folder = await mkdtemp(join(tmpdir(), "belay-inspector-"));
const CELL = `let found = find("\\\\d+").matches.length;
const one = await llm_query("one", { tools: [] });
const two = await llm_query("two", { tools: [] });
[found, one, two]`;
/** The second question of the cell has no answer while this is on. */
let isHeld = true;
const asked = Promise.withResolvers<void>();
const model = await startModelServer(({ prompt }) => {
  if (prompt !== "two" || !isHeld) return { text: `answer ${prompt}` };
  asked.resolve();
  return { end: "stuck" };
});
try {
  await check(await inspectorOf(await installPacked(folder), model));
} finally {
  await model.close();
  await rm(folder, { recursive: true, force: true });
}

/** Calls of the Inspector's command, each with a server process of its own. */
interface Inspector {
  /** A method with its options. */
  call(method: string, ...options: readonly string[]): Promise<Finished>;
  /** What a tool answers. */
  use(tool: string, ...args: readonly string[]): Promise<Readonly<Record<string, unknown>>>;
  /** Kills the newest server with SIGKILL. */
  kill(): Promise<void>;
}

async function inspectorOf(belay: string, { url }: ModelServer): Promise<Inspector> {
  const place = join(folder, "inspector");
  const work = join(folder, "work");
  for (const each of [place, work, join(work, "docs")]) await mkdir(each);
  await writeFile(join(work, "docs/a.txt"), "the code is 4711\n");
  await install(place, `@modelcontextprotocol/inspector@${version}`);
  const pidFile = join(folder, "pid");
  const server = [
    process.execPath,
    join(belay, "dist/src/cli/main.js"),
    "mcp",
    "--model",
    "local/m",
    "--base-url",
    url,
  ];
  const config = join(folder, "servers.json");
  const command = { command: "sh", args: ["-c", `echo $$ > "$0"; exec "$@"`, pidFile, ...server] };
  const env = { BELAY_HOME: join(folder, "home"), XDG_CONFIG_HOME: join(folder, "config") };
  await writeFile(config, JSON.stringify({ mcpServers: { belay: { type: "stdio", ...command, env } } }));
  const cli = [join(place, "node_modules/.bin/mcp-inspector"), "--cli", "--config", config, "--server", "belay"];
  const own = { ...process.env, MCP_INSPECTOR_SECRET_STORE: "memory" };

  const call = (method: string, ...options: readonly string[]) =>
    run(process.execPath, [...cli, "--method", method, ...options], { cwd: work, env: own });
  return {
    call,
    async use(tool, ...args) {
      const given = args.flatMap((arg) => ["--tool-arg", arg]);
      const { stdout, output } = await call("tools/call", "--tool-name", tool, ...given);
      const { content }: { content: readonly { readonly text: string }[] } = parsed(stdout, output);
      return parsed(content[0]?.text ?? "", output);
    },
    async kill() {
      process.kill(Number(await readFile(pidFile, "utf8")), "SIGKILL");
    },
  };
}

async function check({ call, use, kill }: Inspector): Promise<void> {
  const listed = await call("tools/list", "--strict");
  expectThat(listed.code === 0, "tools/list --strict fails", listed.output);
  const { tools }: { tools: readonly { readonly name: string }[] } = parsed(listed.stdout, listed.output);
  const names = tools.map(({ name }) => name);
  expectThat(
    ["rlm_load", "rlm_exec", "rlm_status"].every((name) => names.includes(name)),
    "tools are missing",
    names,
  );

  const loaded = await use("rlm_load", `path=${join(folder, "work/docs")}`);
  expectThat(loaded.success === true, "rlm_load fails", loaded);
  const before = await use("rlm_exec", "code=let n = 41; n");
  expectThat(before.result_json === 41, "rlm_exec fails", before);

  const cut = call("tools/call", "--tool-name", "rlm_exec", "--tool-arg", `code=${CELL}`);
  await asked.promise;
  await kill();
  await cut;
  isHeld = false;
  const again = await use("rlm_exec", `code=${CELL}`);
  expectThat(again.resumed === 1, "the call that was cut is not resumed", again);
  expectThat(JSON.stringify(again.result_json) === '[1,"answer one","answer two"]', "it went otherwise", again);
  const prompts = model.requests.map(({ prompt }) => prompt);
  expectThat(JSON.stringify(prompts) === '["one","two","two"]', "a recorded answer was asked for again", prompts);
  const after = await use("rlm_exec", "code=n + found");
  expectThat(after.result_json === 42, "the state is not there after the kill", after);
  console.log(
    `Inspector ${version}: ${names.length} tools listed; load, exec, kill -9, resumed with 3 requests, state there`,
  );
}

function parsed<T>(text: string, output: string): T {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`this is not JSON:\n${output}`);
  }
}

function expectThat(isSo: boolean, problem: string, seen: unknown): void {
  if (!isSo) throw new Error(`${problem}: ${typeof seen === "string" ? seen : JSON.stringify(seen, null, 2)}`);
}
