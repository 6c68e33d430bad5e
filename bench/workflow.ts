import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { buildCommand } from "./built.ts";
import { median, takeTurns, timed } from "./measure.ts";
import type { Report } from "./report.ts";
import { size } from "./size.ts";

const AGENTS = size(200, 2);
const AT_ONCE = 16;
const SECONDS = size(2, 0.01);
const EMPTY_AGENTS = size(40, 2);
const ROUNDS = { rounds: 3, warmups: 0 };
/** What an agent takes beside its own process, of many agents of seconds. */
const AIM = 1.3;

/** An agent that answers with its prompt after a while. */
const agentOf = (seconds: number) => ["sh", "-c", `sleep ${seconds}; cat`];
const EMPTY = ["cat"];

const META = 'export const meta = { name: "bench", description: "agents that wait" };\n';
const PARALLEL = `${META}
const names = Array.from({ length: ${AGENTS} }, (_, n) => "agent " + n);
const answers = await parallel(names.map((name) => () => agent(name)));
return answers.filter((answer, n) => answer === names[n]).length;`;
const IN_TURN = `${META}
let right = 0;
for (let n = 0; n < ${EMPTY_AGENTS}; n++) if ((await agent("agent " + n)) === "agent " + n) right++;
return right;`;
const NO_AGENT = `${META}return 42;`;

/** Workflows whose agents are commands, against the bare processes of these commands. */
export async function benchWorkflow(): Promise<Report> {
  const { main, home } = await buildCommand();
  const run = openRuns(main, home);
  const many = await takeTurns(
    [
      { name: "belay workflow", once: () => timed(() => run(PARALLEL, "waits", AGENTS)) },
      { name: "bare processes", once: () => timed(() => bare(agentOf(SECONDS), AGENTS, AT_ONCE)) },
    ],
    ROUNDS,
  );
  const empty = await takeTurns(
    [
      ...size([{ name: "belay workflow", once: () => timed(() => run(IN_TURN, "empty", EMPTY_AGENTS)) }], []),
      { name: "bare processes", once: () => timed(() => bare(EMPTY, EMPTY_AGENTS, 1)) },
    ],
    ROUNDS,
  );
  const none = await takeTurns(
    [{ name: "belay workflow", once: () => timed(() => run(NO_AGENT, "empty", 42)) }],
    ROUNDS,
  );
  const [belay = 0, alone = 0] = many.map(({ samples }) => median(samples));
  const [inTurn = 0] = empty.map(({ samples }) => median(samples));
  const [start = 0] = none.map(({ samples }) => median(samples));
  return {
    title: `workflow: agents that are commands, ${AT_ONCE} at once`,
    cases: [
      { name: `${AGENTS} agents of ${SECONDS} s`, measured: many },
      { name: `${EMPTY_AGENTS} agents without work, one after the other`, measured: empty },
      { name: "a script without agents", measured: none },
    ],
    notes: [`an agent without work takes ${((inTurn - start) / EMPTY_AGENTS).toFixed(0)} ms, one after the other`],
    aims: [
      {
        text: `${AGENTS} agents of ${SECONDS} s ≤ ${AIM} × their bare processes`,
        value: `${(belay / alone).toFixed(2)} ×`,
        met: belay / alone <= AIM,
      },
    ],
  };
}

/** Runs a script by a process of the command, each time as a run of its own. */
function openRuns(main: string, home: string) {
  mkdirSync(home, { recursive: true });
  // What they take they do not say, so what they hold counts.
  const held = { at_once: AT_ONCE, max_tokens: 100 };
  const agents = {
    waits: { command: agentOf(SECONDS), ...held },
    empty: { command: EMPTY, ...held },
  };
  writeFileSync(join(home, "config.json"), JSON.stringify({ agents }));
  return async (script: string, agent: keyof typeof agents, expected: number): Promise<void> => {
    const folder = mkdtempSync(join(home, "run-"));
    writeFileSync(join(folder, "work.js"), script);
    const args = [main, "workflow", "work.js", "--agent", agent, "--quiet"];
    const env = { ...process.env, BELAY_HOME: home, BELAY_STORE: join(folder, "store") };
    const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
    const printed = await text(child.stdout);
    if (Number(printed) !== expected) throw new Error(`a workflow printed ${printed}, not ${expected}`);
  };
}

/** Runs a command so often, with so many at once, and reads its answers. */
async function bare([program = "", ...args]: readonly string[], count: number, atOnce: number): Promise<void> {
  let next = 0;
  const runner = async () => {
    while (next < count) {
      const prompt = `agent ${next++}`;
      const child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"] });
      child.stdin.end(prompt);
      const answer = await text(child.stdout);
      if (answer !== prompt) throw new Error(`a process printed ${answer}, not ${prompt}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runner));
}
