import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { drive } from "./agents/drive.ts";
import { AGENTS } from "./agents/table.ts";
import { WORKFLOW_AGENTS, workIn } from "./agents/workflow.ts";
import { install, installPacked } from "./package.ts";
import { mustRun } from "./process.ts";

// The packed package under agents from npm, each without a terminal and with a scripted model on loopback: as clients of its
// server, and some as the programs that answer agents of a workflow.
// Usage: npm run verify -- agents [--http] codex gemini (default: all). With --http they are clients of a server on loopback. With AGENTS_FOLDER=FOLDER they are installed there, and found again.

const { values, positionals } = parseArgs({ options: { http: { type: "boolean" } }, allowPositionals: true });
const names = positionals.length > 0 ? positionals : Object.keys({ ...AGENTS, ...WORKFLOW_AGENTS });
const isHttp = values.http === true;
const folder = await mkdtemp(join(tmpdir(), "belay-agents-"));
try {
  const belay = [process.execPath, join(await installPacked(folder), "dist/src/cli/main.js")];
  for (const name of names) console.log(`${name}: ${await said(name, belay)}`);
} finally {
  await endLeft();
  // A server that has just been ended may still have a file open.
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Ends what agents leave running, such as Cline's hub: their command lines name the folder, which only this run has. */
async function endLeft(): Promise<void> {
  if (process.platform === "win32") return;
  const { stdout } = await mustRun("ps", ["-eo", "pid=,args="], { cwd: folder });
  for (const line of stdout.split("\n").filter((line) => line.includes(folder))) {
    try {
      process.kill(Number.parseInt(line, 10), "SIGTERM");
      console.log(`ended: ${line.trim()}`);
    } catch {
      // It has ended by itself.
    }
  }
}

async function said(name: string, belay: readonly string[]): Promise<string> {
  const client = AGENTS[name];
  const worker = WORKFLOW_AGENTS[name];
  const agent = worker ?? client;
  if (!agent)
    return `skipped, there is no such agent; there are ${Object.keys({ ...AGENTS, ...WORKFLOW_AGENTS }).join(", ")}`;
  const place = join(process.env.AGENTS_FOLDER ?? folder, `agent-${name}`);
  const bin = join(place, "node_modules/.bin");
  const packageFile = join(place, "node_modules", agent.package, "package.json");
  try {
    await readFile(packageFile).catch(async () => {
      await mkdir(place, { recursive: true });
      const release = worker?.release === undefined ? "" : `@${worker.release}`;
      await install(place, `${agent.package}${release}`);
    });
  } catch (error) {
    return `skipped, ${agent.package} cannot be installed: ${firstLine(error)}`;
  }
  const { version } = JSON.parse(await readFile(packageFile, "utf8"));
  const ways: string[] = [];
  if (client) {
    const driven = () =>
      drive(client, { folder: join(folder, name), program: [join(bin, client.program)], belay, isHttp });
    ways.push(
      await outcomeOf(async () => {
        const { seconds, wentOn } = await driven();
        const after = wentOn ? "the same run went on" : "new run";
        return `list, load, exec, query, kill -9, ${after}: all as expected (${seconds.toFixed(0)} s)`;
      }),
    );
  }
  if (worker && !isHttp) {
    ways.push(
      await outcomeOf(async () => {
        await workIn(name, worker, { folder: join(folder, `${name}-works`), bin, belay });
        return "in a workflow: text, value, failure, limit, kill -9: all as expected";
      }),
    );
  }
  return `${version}: ${ways.join("; ")}`;
}

async function outcomeOf(way: () => Promise<string>): Promise<string> {
  try {
    return await way();
  } catch (error) {
    process.exitCode = 1;
    return `FAILED, ${error instanceof Error ? error.message : error}`;
  }
}

function firstLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split("\n")[0] ?? "";
}
