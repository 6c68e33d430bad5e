import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Json } from "../../../runtime/index.ts";
import type { AgentCommands } from "../../../src/platform/agent-commands.ts";
import { parseJson } from "../../../src/platform/json.ts";
import { commandHere, type Ran } from "../command-here.ts";
import { folderWith, grow, type Tree } from "../tree.ts";
import { type LifeEnd, startLife, type WorkflowLife } from "./life.ts";
import { type NotedRun, readAgentsLog } from "./log.ts";

/** A folder with a workflow, whose agents note their starts and ends. */
export interface AgentScene {
  readonly folder: string;
  readonly home: string;
  readonly log: string;
  /** Lets agents end that wait for this file of the folder. */
  open(gate: string): void;
  /** Runs of agents so far, in the order of their starts. */
  runs(): readonly NotedRun[];
  /** Starts of each agent, by its name. */
  starts(): Readonly<Record<string, number>>;
  /** Starts `belay ARGS` in the folder. */
  begin(args: readonly string[]): WorkflowLife;
  /** Runs `belay ARGS` to its end, in this process. */
  belay(args: readonly string[]): Promise<Ran>;
}

/** Parts of a scene beside its script. */
interface SceneParts {
  /** Agents beside those of each scene. */
  readonly agents?: AgentCommands;
  readonly tree?: Tree;
  /** Variables of the command. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The script that a scene's workflow begins with. `ask` asks an agent for which a gate is a file of the folder. */
const HEAD = `export const meta = { name: "scene", description: "agents of a test" };
const ask = (name, gate, more = {}) => agent(\`\${name} \${gate} -\`, { label: name, ...more });
`;

const PROGRAM = fileURLToPath(new URL("agent.sh", import.meta.url));

/** What the agents of a scene print, as `agents` of a configuration says it. */
const AGENT_OUTPUT = { text: "/result", value: "/value", input: "/usage/input", output: "/usage/output" } as const;

/**
 * Makes a folder with the workflow `work.js`, and a configuration with the agents `fake`, which tells its output, `safe`, which may be
 * started again too, and `plain`, whose answer is all that it prints.
 *
 * @param script follows `meta` and `ask`
 */
export function agentScene(script: string, { agents = {}, tree = {}, env = {} }: SceneParts = {}): AgentScene {
  const folder = folderWith({ "work.js": `${HEAD}${script}\n`, "agents.log": "", ...tree });
  const home = join(folder, "home");
  const log = join(folder, "agents.log");
  const command = ["sh", PROGRAM, log];
  const fake = { command, output: AGENT_OUTPUT, timeout_s: 60, at_once: 16 };
  const all = { fake, safe: { ...fake, retry: "safe" }, plain: { command, timeout_s: 60, at_once: 16 }, ...agents };
  grow(folder, { "home/config.json": JSON.stringify({ agents: all }) });
  const runs = () => readAgentsLog(log);
  return {
    folder,
    home,
    log,
    runs,
    begin: (args) => startLife(args, { folder, home, env }),
    open: (gate) => writeFileSync(join(folder, gate), ""),
    starts() {
      const names = Map.groupBy(runs(), ({ name }) => name);
      return Object.fromEntries([...names].map(([name, all]) => [name, all.length]));
    },
    belay: (args) => commandHere(args, { cwd: folder, home, env }),
  };
}

/** The line that runs the workflow of a scene. */
export const LINE: readonly string[] = ["workflow", "work.js", "--agent", "fake", "--json"];

/** The envelope that a line with `--json` has printed. */
export function envelopeOf({ stdout, stderr }: Pick<LifeEnd, "stdout" | "stderr">): { readonly [name: string]: Json } {
  const told = parseJson(stdout.trim().split("\n").at(-1) ?? "");
  if (typeof told !== "object" || told === null || Array.isArray(told))
    throw new Error(`no envelope: ${stdout}${stderr}`);
  return Object.fromEntries(Object.entries(told));
}
