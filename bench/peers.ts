import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { mustRun } from "../scripts/process.ts";
import { startModelServer } from "../tests/support/model-server.ts";
import { type BuiltCommand, buildCommand } from "./built.ts";
import { type Contestant, median, takeTurns, timed } from "./measure.ts";
import { hasPython, installPython, PYTHON } from "./python.ts";
import { aimAtMost, type Case, type Report } from "./report.ts";
import { size } from "./size.ts";

const FOLDER = fileURLToPath(new URL("./peers", import.meta.url));
const NAMES = ["belay", "ax", "langchain", "codemode", "quickjs-emscripten", "sebastianwessel"] as const;
/** RLM of dspy, in Python: Deno runs Pyodide in a process of its own. */
const DSPY = "dspy";
const ROWS_ANSWER_MS = 10;
const KILLS = size(20, 1);
const ROUNDS = { rounds: 5, warmups: 1 };
/** A filled memory takes some of them half a minute. */
const FEW_ROUNDS = { rounds: 3, warmups: 0, budgetMs: 10_000 };

interface Bomb {
  readonly refused: boolean;
  readonly ms: number;
  readonly mb: number;
}

/** Sandboxes of others from npm and PyPI, which are installed in bench/peers first. Each sample is a process of its own, and they take turns. */
export async function benchPeers(): Promise<Report> {
  if (!isInstalled()) {
    const flags = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"];
    await mustRun("npm", ["install", ...flags], { cwd: FOLDER });
  }
  const noPython = await installPython();
  const built = await buildCommand();
  const bombs = new Map<string, Bomb[]>(NAMES.map((name) => [name, []]));
  const bomb = async (name: string) => {
    const found: Bomb = await measured(built, name, "bomb");
    bombs.get(name)?.push(found);
    return found.ms;
  };
  const all = hasPython() ? [...NAMES, DSPY] : NAMES;
  const each = (what: string) => (name: string) => measured(built, name, what);
  const whole = (name: string) => timed(() => measured(built, name, "first"));
  const cases: Case[] = [
    await compared("opening and first cell of a process", all, each("first")),
    await compared("a call of the host that answers at once", all, each("calls")),
    await compared("a process from its start, with a first cell, to its end", all, whole),
    await compared("one of 50 open sessions (dspy: of 3), MB and not ms", all, each("sessions")),
    await compared("a cell that fills 64 MB", NAMES, bomb, FEW_ROUNDS),
    await rowsOf(built),
  ];
  const { kinds } = await import(pathToFileURL(join(FOLDER, "kinds.js")).href).then(({ KINDS }) => ({
    kinds: Object.keys(KINDS),
  }));
  const notes = [
    noPython === null
      ? "dspy's RLM calls the host without keeping anything. Its own pool has 8 prompts in flight, so Belay's has too."
      : `dspy is not on this machine: ${noPython}`,
  ];
  for (const name of NAMES) {
    const found = bombs.get(name) ?? [];
    const most = `takes ${median(found.map(({ mb }) => mb)).toFixed(0)} MB${found.every((one) => one.refused) ? "" : ", and is not refused"}`;
    const filled = found.length > 0 ? most : "ends the process";
    const again = await askedAgain(built, name);
    const restored = await kindsRestored(built, name, kinds);
    notes.push(
      `${name}: the cell that fills its memory ${filled}; ${again} settled calls asked again in ${KILLS} kills; ${restored} of ${kinds.length} kinds of state in another process.`,
    );
  }
  const [first = Number.NaN, call = Number.NaN] = cases.map(({ measured }) => median(measured[0]?.samples ?? []));
  return {
    title: "peers: sandboxes of others, each sample in a process of its own",
    cases,
    notes,
    aims: [
      aimAtMost("opening and first cell of a process ≤ 60 ms", first, 60, " ms"),
      aimAtMost("a call of the host ≤ 0.4 ms", call, 0.4, " ms"),
    ],
  };
}

/** True if all packages that bench/peers names are there. */
function isInstalled(): boolean {
  const { dependencies } = JSON.parse(readFileSync(join(FOLDER, "package.json"), "utf8"));
  return Object.keys(dependencies).every((name) => existsSync(join(FOLDER, "node_modules", name)));
}

/** A cell with so many prompts to a scripted model, by each one's own function for that. */
async function rowsOf(built: BuiltCommand): Promise<Case> {
  await using server = await startModelServer(({ sent }) => {
    // dspy asks for an answer in one piece.
    const isStream = JSON.parse(sent).stream === true;
    return { delayMs: ROWS_ANSWER_MS, ...(isStream ? { text: "ok" } : WHOLE) };
  });
  const names = hasPython() ? ["belay", DSPY] : ["belay"];
  const rows = (name: string) => measured(built, name, "rows", tmpdir(), server.url);
  // The server stays until all have asked it.
  return await compared(`1,000 prompts of ${ROWS_ANSWER_MS} ms, 8 in flight`, names, rows, FEW_ROUNDS);
}

const WHOLE = {
  headers: { "content-type": "application/json" },
  body: JSON.stringify({
    id: "x",
    object: "chat.completion",
    created: 1,
    model: "bench",
    choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  }),
};

async function compared(
  name: string,
  names: readonly string[],
  once: (name: string) => Promise<number>,
  turns: typeof ROUNDS | typeof FEW_ROUNDS = ROUNDS,
): Promise<Case> {
  const contestants = names.map((name): Contestant => ({ name, once: () => once(name).catch(() => undefined) }));
  return { name, measured: await takeTurns(contestants, turns) };
}

function argumentsOf(built: BuiltCommand, name: string, what: string, folder = tmpdir(), kind = ""): string[] {
  return [join(FOLDER, "process.js"), name, what, folder, built.library, kind];
}

async function measured(built: BuiltCommand, name: string, what: string, folder?: string, kind?: string) {
  const isPython = name === DSPY;
  const args = isPython ? [join(FOLDER, "process.py"), what, kind ?? ""] : argumentsOf(built, name, what, folder, kind);
  const { stdout } = await promisify(execFile)(isPython ? PYTHON : process.execPath, args, { timeout: 120_000 });
  return JSON.parse(stdout);
}

/** Kills a process whenever it has had one answer more than before, and counts calls that are made although the code has seen their answer. */
async function askedAgain(built: BuiltCommand, name: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "belay-peers-"));
  const log = join(folder, "asks");
  const lines = () => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []);
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      const child = spawn(process.execPath, argumentsOf(built, name, "asks", folder), { stdio: "ignore" });
      const ended = new Promise((resolve) => child.once("close", resolve));
      const wanted = `ask ${kill + 1}`;
      while (child.exitCode === null && !lines().includes(wanted)) await delay(1);
      child.kill("SIGKILL");
      await ended;
    }
    // A question is settled when a later one was asked: the code has seen its answer.
    let latest = -1;
    let again = 0;
    for (const line of lines()) {
      const n = Number(line.slice("ask ".length));
      if (n < latest) again++;
      latest = Math.max(latest, n);
    }
    return again;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function kindsRestored(built: BuiltCommand, name: string, kinds: readonly string[]): Promise<number> {
  let restored = 0;
  for (const kind of kinds.slice(0, size(kinds.length, 1))) {
    const folder = mkdtempSync(join(tmpdir(), "belay-peers-"));
    mkdirSync(join(folder, "store"));
    try {
      const isSaved = await measured(built, name, "make", folder, kind).catch(() => false);
      if (isSaved && (await measured(built, name, "look", folder, kind).catch(() => false))) restored++;
      // A sandbox that saves nothing restores nothing.
      else if (isSaved === false && kind === kinds[0]) break;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return restored;
}
