import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { envelopeOf, resultTo } from "../tests/support/pi/model.ts";
import { type PiLine, type PiOptions, printPi } from "../tests/support/pi/process.ts";
import { exec, piScene } from "../tests/support/pi/scene.ts";
import { mustRun } from "./process.ts";

const WORDS = ["one", "two", "three", "four"];
const CELL = `var said = []; for (const word of ${JSON.stringify(WORDS)}) said.push(await llm_query(word)); said`;
/** The fork may take the session of a killed process for an open one so long. */
const REFUSED_MS = 90_000;

/** The processes of a killed fork. */
type Part = "client" | "daemon" | "worker";

/**
 * The installed package in a fork of Pi whose sessions live in workers of a daemon. Its processes are killed while a cell waits for the
 * third of four sub-calls, each kind in turn and all at once; then the conversation goes on with `--continue`.
 */
export async function checkFork(command: string, belay: string): Promise<void> {
  const line = { version: "the host", command };
  for (const killed of [["client"], ["daemon"], ["worker"], ["client", "daemon", "worker"]] as const) {
    console.log(`kill -9 of ${killed.join(", ")}: ${await afterKill(line, belay, killed)}`);
  }
}

async function afterKill(line: PiLine, belay: string, killed: readonly Part[]): Promise<string> {
  await using scene = await piScene(line, { files: { "a.txt": "the code is 4711\n" } });
  const { model, home } = scene;
  // Its daemon listens in the folder of temporary files.
  const env = { ...home.env, TMPDIR: home.project };
  const options: PiOptions = { home, extensions: [], env };
  await mustRun(process.execPath, [line.command, "package", "install", belay], { cwd: home.project, env });
  const hold = model.hold("three");
  const prompt = model.plan("ask them", { tool: "rlm_load", args: { path: home.project } }, exec(CELL));
  try {
    const first = printPi(line, prompt, options);
    await model.until(() => model.subCalls().length === 3);
    const alive = await processesOf(home.belay);
    for (const part of killed) {
      const own = alive.filter((each) => each.part === part);
      if (own.length === 0) throw new Error(`there is no ${part} to kill`);
      for (const { pid } of own) process.kill(pid, "SIGKILL");
    }
    hold.release();
    const printed = await first;
    const began = Date.now();
    const again = await continued(line, model.plan("and now?"), options);
    const waited = Date.now() - began;
    const { success, result_json } = envelopeOf(resultTo(model.turns().at(-1), prompt, 1));
    const requests = WORDS.map((word) => `${word} ${model.subCalls().filter((asked) => asked === word).length}`).join(
      ", ",
    );
    const refused = again.refusal === "" ? "" : `, before with: ${again.refusal}`;
    const isRight =
      success === true && JSON.stringify(result_json) === JSON.stringify(WORDS.map((word) => `answer to ${word}`));
    const told = `requests ${requests}; --continue answered after ${Math.round(waited / 1000)} s${refused}`;
    if (isRight) return told;
    throw new Error(`${told}\n${JSON.stringify({ success, result_json, printed, again }, null, 2)}`);
  } finally {
    for (const { pid } of await processesOf(home.belay)) process.kill(pid, "SIGKILL");
  }
}

/** Goes on with the newest session, as soon as the host opens it. */
async function continued(line: PiLine, prompt: string, options: PiOptions) {
  const until = Date.now() + REFUSED_MS;
  for (let refusal = ""; ; ) {
    const printed = await printPi(line, prompt, options, ["--continue"]);
    if (printed.stdout === `done: ${prompt}\n` || Date.now() > until) return { ...printed, refusal };
    refusal ||= /^Error: .*/m.exec(printed.stderr)?.[0] ?? printed.stderr.trim();
    await sleep(1_000);
  }
}

/** The processes that have this store in their environment. Their titles say the same of all of them. */
async function processesOf(store: string): Promise<readonly { readonly pid: number; readonly part: Part }[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [env = "", status = ""] = await Promise.all(
        ["environ", "status"].map((file) => readFile(join("/proc", pid, file), "utf8").catch(() => "")),
      );
      if (!env.includes(`BELAY_HOME=${store}`)) return [];
      const isClient = status.includes(`\nPPid:\t${process.pid}\n`);
      const others = env.includes("PRIME_AGENT_INTERNAL_DAEMON_WORKER=") ? "worker" : "daemon";
      return [{ pid: Number(pid), part: isClient ? "client" : others } as const];
    }),
  );
  return found.flat();
}
