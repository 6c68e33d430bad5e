import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { release, tmpdir } from "node:os";
import { join, parse } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as later } from "node:timers/promises";
import { functionCampaign, printedFunctions } from "../../campaigns/crash/functions/campaign.ts";
import { type Finished, mustRun, ROOT, run } from "../process.ts";

// Trials of an installed package in Node for Windows: `trials.js PACKAGE KILLS [PART of a name]`. Each is a few real processes, and prints a line.

const [, , PACKAGE = "", KILLS = "", ONLY = ""] = process.argv;
const BELAY = join(PACKAGE, "dist/src/cli/main.js");
const PLACE = mkdtempSync(join(tmpdir(), "belay Äpfel & Öl "));
/** Without the settings of whoever starts the trials. */
const FOREIGN = Object.entries(process.env).filter(([name]) => !/^belay_/i.test(name));
const ENV: Record<string, string | undefined> & { readonly USERPROFILE: string } = {
  ...Object.fromEntries(FOREIGN),
  USERPROFILE: join(PLACE, "Jürgen Müller"),
  NODE_NO_WARNINGS: "1",
};
/** Wine names itself in the registry, and Node in its directory of DLLs; this variable is the loader's. */
const isWine = process.env.WINELOADER !== undefined || process.env.WINEPREFIX !== undefined;
const STORE = join(ENV.USERPROFILE, ".belay");

/** Each answers with what a person may want to know of it. */
const TRIALS: readonly (readonly [about: string, trial: () => Promise<string>])[] = [
  ["doctor", doctor],
  ["paths with drive letters and backslashes", paths],
  ["a script with CRLF", crlf],
  ["paths of more than 260 characters", longPaths],
  ["names of devices, and names that end with a dot", reservedNames],
  ["a result over a file that is open", openResult],
  ["a session that another process has", locks],
  ["sessions, show, view, fork, rm, gc", store],
  ["documents, read in a child", documents],
  ["a large context in checked files", largeContext],
  ["lines to type in cmd", typedLines],
  ["MCP over pipes, and taskkill", mcp],
  ["a batch of jobs, and taskkill", batch],
  ["a workflow with a program as agent, and taskkill", workflow],
  ["an agent that takes too long, with what it has started", slowAgent],
  ["a .cmd file as agent", cmdAgent],
  ["kills without a mismatch", campaign],
];

mkdirSync(ENV.USERPROFILE);
console.log(`Node ${process.versions.node}, Windows ${release()}, ${PLACE}`);
for (const [about, trial] of TRIALS) {
  if (!about.includes(ONLY)) continue;
  const began = performance.now();
  const seconds = () => `${((performance.now() - began) / 1000).toFixed(1)} s`;
  try {
    console.log(`ok       ${about}: ${await trial()} (${seconds()})`);
  } catch (error) {
    process.exitCode = 1;
    console.log(`FAILED   ${about}: ${error instanceof Error ? error.stack : error} (${seconds()})`);
  }
}
rmSync(PLACE, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });

/** Runs the command to its end. */
function belay(...args: readonly string[]): Promise<Finished> {
  return run(process.execPath, [BELAY, ...args], { cwd: PLACE, env: ENV });
}

/** What the command prints to stdout. @throws Error if it fails */
async function told(...args: readonly string[]): Promise<string> {
  const { stdout } = await mustRun(process.execPath, [BELAY, ...args], { cwd: PLACE, env: ENV });
  return stdout.trim();
}

/** What the command prints to stderr when it refuses, which has this text. */
async function refused(part: string, ...args: readonly string[]): Promise<string> {
  const { code, stderr } = await belay(...args);
  if (code === 0 || code === null || !stderr.includes(part))
    throw new Error(`code ${code}, without ${part}: ${stderr}`);
  return stderr.trim();
}

function expect(what: string, found: unknown, wanted: unknown): void {
  const [is, should] = [found, wanted].map((value) => JSON.stringify(value));
  if (is !== should) throw new Error(`${what}: ${is}, and not ${should}`);
}

/** A file below the place, with the folders above it. */
function file(name: string, text: string): string {
  const path = join(PLACE, name);
  mkdirSync(parse(path).dir, { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** Starts the command with its pipes. */
function started(...args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [BELAY, ...args], { cwd: PLACE, env: ENV, stdio: "pipe" });
}

/** Ends a process as `kill -9` does. */
async function taskkill({ pid }: ChildProcess, ...flags: readonly string[]): Promise<void> {
  await mustRun("taskkill", ["/F", ...flags, "/PID", String(pid)], { cwd: PLACE });
}

/** Resolves when something is so. */
async function until(what: string, isSo: () => boolean | Promise<boolean>, seconds = 180): Promise<void> {
  const end = performance.now() + seconds * 1000;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`not within ${seconds} s: ${what}`);
    await later(50);
  }
}

async function doctor(): Promise<string> {
  const said = await told("doctor");
  if (!said.includes("all is well")) throw new Error(said);
  return "all is well";
}

async function paths(): Promise<string> {
  file("c/one/a.txt", "alpha needle\r\n");
  file("c/two/größe.txt", "beta\n");
  const list = "list_docs().map(({ id }) => id)";
  expect("documents", JSON.parse(await told("exec", "-c", join(PLACE, "c"), "-e", list)), [
    "one/a.txt",
    "two/größe.txt",
  ]);
  expect("a relative path", await told("exec", "-c", ".\\c\\one\\a.txt", "-e", "P"), "alpha needle");
  expect("slashes", await told("exec", "-c", `${PLACE.replaceAll("\\", "/")}/c/one`, "-e", "list_docs().length"), "1");
  const found = await told("find", "needle", join(PLACE, "c"));
  expect(found, found.replaceAll("\\", "/").endsWith("/c/one/a.txt:1:7: alpha needle"), true);
  const missing = join(PLACE, "missing");
  await refused(`${missing} does not exist (path_not_found)`, "exec", "-c", missing, "-e", "1");
  return `documents of ${parse(PLACE).root} by names with slashes`;
}

async function crlf(): Promise<string> {
  const good = file("good.js", "const a = 1;\r\nconst t = `x\r\ny`;\r\n// what\r\na + t.length\r\n");
  const bad = file("bad.js", "const b = 1;\r\n\r\nmissing();\r\n");
  expect("value", await told("exec", good, "-s", "crlf"), "4");
  await refused("3", "exec", bad);
  const show = await told("show", "crlf");
  if (show.includes("\\r")) throw new Error(`show has \\r: ${show}`);
  return "one value, and lines of errors as they are";
}

async function longPaths(): Promise<string> {
  const folder = join("long", ...Array.from({ length: 8 }, (_, n) => `${n}`.repeat(40)));
  const path = file(join(folder, "deep.txt"), "deep needle\n");
  const isLoaded = !isWine || realpathIs(path);
  if (isLoaded) expect("find", (await told("find", "needle", join(PLACE, "long"))).endsWith("deep needle"), true);
  const out = join(parse(path).dir, "result.json");
  await told("exec", "-e", "'deep needle'", "-o", out);
  expect("result", readFileSync(out, "utf8").trim(), "deep needle");
  const home = join(parse(path).dir, "store");
  expect("store", await told("exec", "-s", "deep", "-e", "7 * 6", "--store", home), "42");
  return `${path.length} characters${isLoaded ? "" : "; no file was loaded, since Wine does not say its real path"}`;
}

function realpathIs(path: string): boolean {
  try {
    return realpathSync.native(path) !== "";
  } catch {
    return false;
  }
}

async function reservedNames(): Promise<string> {
  file("named/aux.txt", "of a device\n");
  expect("read", await told("exec", "-c", join(PLACE, "named", "aux.txt"), "-e", "P"), "of a device");
  for (const name of ["NUL", "con.json", "LPT1", "result. ", "result.json."]) {
    await refused("output_failed", "exec", "-e", "1", "-o", join(PLACE, name));
  }
  expect(
    "left",
    readdirSync(PLACE).filter((name) => /nul|con|lpt|result/i.test(name)),
    [],
  );
  return "read, and refused as results";
}

async function openResult(): Promise<string> {
  const path = file("open.json", "old");
  const line = ["exec", "-s", "open", "-e", "'new'", "-o", path];
  const descriptor = openSync(path, "r");
  const { code, stderr } = await belay(...line);
  closeSync(descriptor);
  if (code === 0) return "replaced while it was open";
  if (!stderr.includes("Close it in the program that has it open")) throw new Error(stderr);
  expect("what is there", readFileSync(path, "utf8"), "old");
  await told("resume", "open");
  expect("result", readFileSync(path, "utf8"), "new");
  return "refused by name, and written by belay resume when it was closed";
}

async function locks(): Promise<string> {
  const busy = started("exec", "-s", "taken", "-e", "for (;;);", "--max-execution-ms", "600000");
  await until("the session is listed", async () => (await told("sessions")).includes("taken"));
  await refused("taken", "exec", "-s", "taken", "-e", "1");
  await taskkill(busy);
  expect("after the kill", await told("exec", "-s", "taken", "-e", "1 + 1", "--discard"), "2");
  return "refused, and free after the kill";
}

async function store(): Promise<string> {
  await told("exec", "-s", "kept", "-e", "var n = 41");
  expect("variable", await told("exec", "-s", "kept", "-e", "n + 1"), "42");
  for (const part of ["kept", "execs", "checkpoints"]) {
    if (!(await told("show", "kept")).includes(part)) throw new Error(`show has no ${part}`);
  }
  const page = join(PLACE, "page of kept.html");
  await belay("view", "kept", "-o", page);
  expect("page", readFileSync(page, "utf8").startsWith("<!doctype html>"), true);
  await told("fork", "kept", "--name", "fork");
  expect("fork", await told("exec", "-s", "fork", "-e", "n"), "41");
  await told("rm", "fork");
  await told("gc");
  return "as elsewhere";
}

async function documents(): Promise<string> {
  const letter = file(
    "mail/letter.eml",
    "From: a@b.c\r\nSubject: Hello\r\nContent-Type: text/html\r\n\r\n<p>A <b>needle</b></p>\r\n",
  );
  expect("found", (await told("find", "needle", parse(letter).dir)).includes("needle"), true);
  return "an e-mail";
}

async function largeContext(): Promise<string> {
  const line = `${"a line of a large context ".repeat(40)}\n`;
  const folder = join(PLACE, "large");
  file("large/1.txt", line.repeat(55_000));
  file("large/2.txt", `${line.repeat(50_000)}the needle\n`);
  const flags = ["-s", "large", "--max-context-mb", "200"];
  const find = 'find("needle").matches.length';
  expect("found", await told("exec", ...flags, "-c", folder, "-e", find), "1");
  expect("opened again", await told("exec", ...flags, "-e", find), "1");
  const texts = readdirSync(join(STORE, "texts"));
  await told("rm", "large");
  await told("gc");
  const left = readdirSync(join(STORE, "texts")).filter((name) => /^[0-9a-f]{64}$/.test(name));
  expect("left by gc", left, []);
  return `${texts.length} files beside the store, and none after gc`;
}

/** A line that is suggested runs as it is. */
async function typedLines(): Promise<string> {
  const missing = join(PLACE, "new folder (1)", "x.json");
  const said = await refused("output_failed", "exec", "-e", "1", "-o", missing);
  const line = /Make it: (.+)$/m.exec(said)?.[1] ?? "";
  await mustRun("cmd", ["/d", "/s", "/c", `"${line}"`], { cwd: PLACE, windowsVerbatimArguments: true });
  expect(line, existsSync(parse(missing).dir), true);
  return line;
}

/** A server that has shaken hands, and what it answers to calls of its tools. */
async function served() {
  const child = started("mcp");
  const waiting = new Map<number, (message: { readonly result?: unknown }) => void>();
  if (!child.stdout || !child.stdin) throw new Error("no pipes");
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
  });
  let id = 0;
  const ask = async (method: string, params: object) => {
    const { promise, resolve } = Promise.withResolvers<{ readonly result?: unknown }>();
    waiting.set(++id, resolve);
    child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return JSON.stringify((await promise).result);
  };
  const clientInfo = { name: "trials", version: "1" };
  await ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
  const call = (name: string, args: object) => ask("tools/call", { name, arguments: args });
  return { child, ask, call };
}

async function mcp(): Promise<string> {
  const first = await served();
  const tools = await first.ask("tools/list", {});
  if (!tools.includes("rlm_exec")) throw new Error(tools);
  const loaded = await first.call("rlm_load", { path: join(PLACE, "c") });
  if (!loaded.includes('document_count\\":2')) throw new Error(loaded);
  const away = await first.call("rlm_load", { path: "\\\\host\\share\\a.txt" });
  if (!away.includes("path_outside_sandbox")) throw new Error(away);
  await first.call("rlm_exec", { code: "var n = 41; n" });
  void first.call("rlm_exec", { code: "n = 1; for (const end = Date.now() + 3000; Date.now() < end; );" });
  await later(500);
  await taskkill(first.child);
  const second = await served();
  const value = await second.call("rlm_exec", { code: "n + 1" });
  if (!value.includes('"result_json\\":2')) throw new Error(value);
  second.child.stdin?.end();
  const [code] = await once(second.child, "exit");
  expect("code at the end of stdin", code, 0);
  return "a call that was killed is finished by the next server";
}

async function batch(): Promise<string> {
  const script = file("twice.js", "for (const end = Date.now() + 300; Date.now() < end; ); job.n * 2");
  const jobs = file("jobs.jsonl", Array.from({ length: 20 }, (_, n) => `{"n":${n}}\r\n`).join(""));
  const out = join(PLACE, "twice.jsonl");
  const line = ["batch", script, "--jobs", jobs, "-o", out];
  const killed = started(...line);
  let said = "";
  killed.stderr?.on("data", (text) => {
    said += text;
  });
  await until("a job has ended", () => /[1-9]\d*\/20 done/.test(said));
  await taskkill(killed);
  await told(...line);
  const results = readFileSync(out, "utf8")
    .trim()
    .split("\n")
    .map((one) => JSON.parse(one));
  expect(
    "results",
    results.map(({ result }) => result),
    Array.from({ length: 20 }, (_, n) => 2 * n),
  );
  return `${results.length} results`;
}

/** Writes the entry of an agent, and a script that asks it. */
function agent(name: string, command: readonly string[], options: object = {}): string {
  mkdirSync(STORE, { recursive: true });
  writeFileSync(join(STORE, "config.json"), JSON.stringify({ agents: { trial: { command, ...options } } }));
  const meta = `export const meta = { name: "${name}", description: "one agent" };\n`;
  return file(`${name}.js`, `${meta}return await agent("say it", { agentType: "trial" });`);
}

async function workflow(): Promise<string> {
  const log = join(PLACE, "agent.log");
  const program = file(
    "agent.mjs",
    `import { appendFileSync, readFileSync } from "node:fs";
appendFileSync(${JSON.stringify(log)}, "began\\n");
const prompt = readFileSync(0, "utf8");
setTimeout(() => console.log("said: " + prompt), 5000);`,
  );
  const script = agent("kept", [process.execPath, program]);
  const killed = started("workflow", script);
  await until("the agent has begun", () => existsSync(log));
  await taskkill(killed);
  const said = await told("workflow", script);
  expect("answer", said.endsWith("said: say it"), true);
  expect("starts", readFileSync(log, "utf8"), "began\n");
  return "its answer is taken over, and it was started once";
}

/** An agent whose time is over is ended with what it has started: by `taskkill /T`, which Wine does not have. */
async function slowAgent(): Promise<string> {
  const log = join(PLACE, "slow.log");
  const working = `setInterval(() => require("fs").appendFileSync(${JSON.stringify(log)}, "."), 100)`;
  const starting = `require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(working)}]);`;
  const program = file("slow.cjs", `${isWine ? "" : starting}${isWine ? working : "setInterval(() => {}, 1000)"};`);
  const { stderr } = await belay("workflow", agent("slow", [process.execPath, program], { timeout_s: 6 }));
  if (!stderr.includes("took longer than its time")) throw new Error(stderr);
  await later(1000);
  const before = readFileSync(log, "utf8").length;
  await later(1000);
  expect("work after the end", readFileSync(log, "utf8").length - before, 0);
  return isWine ? "ended" : "ended, as is what it has started";
}

/** A file as npm writes it is no script of its own: the program that it starts is the agent. */
async function cmdAgent(): Promise<string> {
  file("lib/says.mjs", 'console.log("said by a script");');
  const ofNpm = `@SET "_prog=node"\r\n@title %COMSPEC% & "%_prog%"  "%dp0%\\..\\lib\\says.mjs" %*\r\n`;
  const said = await told("workflow", agent("ofNpm", [file("bin/says.cmd", ofNpm)]));
  expect("answer", said.endsWith("said by a script"), true);
  await refused("is a script of cmd", "workflow", agent("own", [file("own.cmd", "@echo said\r\n")]));
  return "one of npm runs, and another one is refused by name";
}

async function campaign(): Promise<string> {
  const folder = join(PLACE, "campaign");
  mkdirSync(folder);
  const said: string[] = [];
  const report = await functionCampaign({
    folder,
    seed: 1,
    kills: Number(KILLS),
    most: 3,
    jobs: 1,
    command: [join(ROOT, "tests/support/crash/functions.js")],
    say: (line) => said.push(line),
  });
  if (report.mismatches.length > 0) throw new Error([printedFunctions(report), ...said].join("\n"));
  return printedFunctions(report).replaceAll(/\s*\n/g, "; ").replaceAll(/ +/g, " ");
}
