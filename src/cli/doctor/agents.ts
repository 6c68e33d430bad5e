import type { AgentCommands } from "../../platform/agent-commands.ts";
import { amount } from "../../platform/figures.ts";
import { isStoreToRead } from "../../platform/home.ts";
import { programFile } from "../../platform/programs.ts";
import { inLine } from "../../platform/visible.ts";
import { readConfig } from "../../settings/index.ts";
import { isServer } from "../../store/store-place.ts";
import { runWorkflow } from "../../workflow/index.ts";
import type { Host } from "../commands/define.ts";
import { configPlaces } from "../session/settings.ts";
import { type Outboxes, orphansAmong, outboxesOf } from "../store/agent-outboxes.ts";
import { withStore } from "../store/open-store.ts";
import type { Found } from "./store.ts";

/**
 * Checks the agents of the user's configuration: that their programs are there, that one can be
 * started, and that nothing is left of agents whose session is gone.
 */
export async function checkAgents(place: string, host: Host): Promise<Found> {
  const { agents = {} } = readConfig({}, configPlaces());
  const names = Object.keys(agents);
  const left = await leftOf(place, host);
  const missing = names.filter((name) => programFile(agents[name]?.command[0] ?? "") === null);
  if (names.length > 0) await tryOne();
  const found =
    names.length === 0 ? "none are configured" : `${names.join(", ")}; a program of Belay was run as an agent`;
  const problems = [...missing.map((name) => missingText(name, agents)), ...left.map(leftText)];
  if (problems.length === 0) return { state: "ok", detail: found };
  const cures = [
    ...(missing.length > 0 ? ["install it, or correct `command` in `agents` of ~/.belay/config.json"] : []),
    ...(left.length > 0 ? ["`belay gc` drops what is left of them, worktrees too"] : []),
  ];
  return { state: "warning", detail: [found, ...problems].join("\n"), cure: cures.join("; ") };
}

function missingText(name: string, agents: AgentCommands): string {
  return `the program of the agent ${name} was not found: ${inLine(agents[name]?.command[0] ?? "")}`;
}

const leftText = ({ folder, agents, trees }: Outboxes) => {
  const worktrees = trees.length > 0 ? ` and ${amount(trees.length, "worktree")}` : "";
  return `${inLine(folder)} has ${amount(agents, "outbox", "outboxes")}${worktrees} of a session that is gone`;
};

const TRIAL = `export const meta = { name: "trial", description: "one agent without work" };
return await agent("trial");`;

/** Runs an agent that only prints, with its keeper. @throws Error if that fails */
async function tryOne(): Promise<void> {
  const print = { command: [process.execPath, "-e", 'process.stdout.write("well")'], timeout_s: 30 };
  const answer = await runWorkflow(TRIAL, { agents: { trial: print }, agent: "trial" });
  if (answer.success && answer.result_json === "well") return;
  const why = answer.success ? answer.stderr.trim() || JSON.stringify(answer.result_json) : answer.error_message;
  throw new Error(`an agent could not be run: ${why}`);
}

/** Outboxes whose session is gone. Those of a server's store may be those of another one. */
async function leftOf(place: string, host: Host): Promise<readonly Outboxes[]> {
  const all = isServer(place) || isStoreToRead(place) ? [] : outboxesOf(place);
  return all.length === 0 ? [] : withStore(place, host, (store) => orphansAmong(all, store));
}
