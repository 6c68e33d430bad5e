import { availableParallelism } from "node:os";
import { firstly, LIMITS, remedy } from "../../../runtime/index.ts";
import { failure, loadAgentLayer, type SubCallError } from "../../models/index.ts";
import {
  type AgentCommand,
  type AgentCommands,
  agentModelName,
  isUncounted,
  reservesOf,
} from "../../platform/agent-commands.ts";
import type { SessionState } from "../journal/account.ts";
import { limitsNow } from "../journal/ledger.ts";
import type { CallingSession } from "../parts.ts";
import { NO_WORKFLOW } from "../workflow-marks.ts";
import { type AgentsFolder, callOf, openAgentsFolder } from "./agents-folder.ts";
import { type Limiter, openLimiter } from "./concurrency.ts";
import { type Agents, type Answered, FREE, guestError } from "./port.ts";

/** Tries of an agent that may be started again. */
const SAFE_TRIES = 3;

type AgentsParts = Pick<
  CallingSession,
  "row" | "options" | "env" | "rules" | "suspension" | "state" | "workflows" | "cwd"
>;

export function openAgents(session: AgentsParts): Agents {
  const { row, options, rules, suspension, state, workflows, cwd } = session;
  const commands = options.agents ?? {};
  const folder = openAgentsFolder(session);
  const ofSession = openLimiter(LIMITS.workflowAtOnce);
  const gateOf = openAgentPlaces(commands);
  /** Answers of the host, by the exec and the agent. */
  const allowed = new Map<string, Promise<boolean>>();

  /** An entry as its calls hold money. */
  function commandOf(name: string): AgentCommand | undefined {
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
    const { max_tokens } = rules.workflow ?? limitsNow(rules, state().account);
    const limit = { max_tokens, isUsual: rules.tokensAreUsual };
    return command && isUncounted(command, limit) ? { ...command, max_tokens: 0 } : command;
  }

  return {
    refusal(name) {
      const { start } = state().account.last ?? {};
      const doubt = start ? workflows.doubt(start) : NO_WORKFLOW;
      const isMissing = start?.workflow !== undefined;
      if (doubt !== null) return { error: forbidden(doubt, isMissing), isMissing };
      return commandOf(name) ? null : { error: missing(name, Object.keys(commands)), isMissing };
    },
    allows(name, prompt) {
      const { approve, require_approval = true } = options.subAgents ?? {};
      if (!approve || !require_approval) return Promise.resolve(true);
      const key = `${state().account.last?.start.exec_id} ${name}`;
      const answer = allowed.get(key) ?? approve({ builtin: "agent", tools: [name], prompt });
      allowed.set(key, answer);
      return answer;
    },
    inTurn: (name, signal, work) => gateOf(name).run(signal, async () => ofSession.run(signal, work)),
    async modelsFor(id, { agent = "", schema, model, isolation }) {
      const command = commandOf(agent);
      if (!command) throw new Error(`the agent ${agent} is not lent`);
      const { agentModels, schemaWord } = await loadAgentLayer();
      const mostTries = command.retry === "safe" ? SAFE_TRIES : 1;
      return agentModels({
        name: agent,
        command,
        key: [row.id, id],
        folder: folder.make(),
        model: model ?? null,
        schema: schema === undefined ? null : schemaWord(schema),
        cwd,
        worktree: isolation === "worktree",
        mostTries: suspension.resendsDoubtful() ? Number.POSITIVE_INFINITY : mostTries,
      });
    },
    place: folder.place,
    doubt(id, name) {
      const begun = state().account.last?.agents.get(id);
      const here = folder.place();
      if (!begun || suspension.resendsDoubtful() || commandOf(name)?.retry === "safe") return null;
      if (here && begun.host === here.host && begun.outbox === here.outbox) return null;
      return failure("answer_lost", `the agent ${name} was begun on ${begun.host}, and its outbox is not here`, {
        suggestion: `Resume it on ${begun.host}, which takes its answer; ${remedy("resendDoubtful")}, which may pay for it twice.`,
      });
    },
    ...outboxesOf(session, folder, commandOf),
  };
}

/** The end of the outboxes of calls. */
function outboxesOf(
  { row, state }: AgentsParts,
  folder: AgentsFolder,
  commandOf: (name: string) => AgentCommand | undefined,
): Pick<Agents, "isUnderWay" | "giveUp" | "worktreesOf" | "recorded" | "close"> {
  return {
    async isUnderWay(id) {
      const runs = folder.runsOf(id);
      if (runs.length === 0) return false;
      const { isUnderWay } = await loadAgentLayer();
      return runs.some((name) => isUnderWay(folder.pathOf(name)));
    },
    async giveUp(id, { agent = "", model }) {
      const runs = folder.runsOf(id);
      if (runs.length === 0) return null;
      const { giveUpAgent, isUnderWay, forgetRun } = await loadAgentLayer();
      const begun = runs.filter((name) => isUnderWay(folder.pathOf(name)));
      for (const name of runs) {
        giveUpAgent(folder.pathOf(name), `${row.id}/${name}`);
        forgetRun(folder.pathOf(name));
      }
      const command = commandOf(agent);
      if (begun.length === 0 || !command) return null;
      return charged(command, agentModelName(agent, model), begun.length);
    },
    worktreesOf: (id) => folder.runsOf(id).flatMap((name) => folder.treesIn(name)),
    async recorded(id) {
      const runs = folder.runsOf(id);
      if (runs.length === 0) return;
      const { forgetRun } = await loadAgentLayer();
      for (const name of runs) forgetRun(folder.pathOf(name));
    },
    async close() {
      // Another process may have the session, and agents of it.
      if (row.lost?.aborted) return;
      const runs = folder.runs();
      if (runs.length > 0) {
        const { forgetRun } = await loadAgentLayer();
        const open = openCallsIn(state());
        for (const name of runs) if (!open.has(callOf(name))) forgetRun(folder.pathOf(name));
      }
      folder.drop();
    },
  };
}

/** Places of agents, by their names. */
export type AgentPlaces = (name: string) => Limiter;

/** Opens the places of these agents: as many as their entries say. */
export function openAgentPlaces(commands: AgentCommands): AgentPlaces {
  const places = new Map<string, Limiter>();
  return (name) => {
    const own = places.get(name) ?? openLimiter(commands[name]?.at_once ?? USUAL_AT_ONCE);
    places.set(name, own);
    return own;
  };
}

/** Agents of one command that run at once, unless its entry says how many. */
const USUAL_AT_ONCE = Math.min(LIMITS.workflowAtOnce, Math.max(2, availableParallelism() - 2));

function forbidden(why: string, isWorkflow: boolean): SubCallError {
  const suggestion = isWorkflow
    ? "Run it where you began it, or begin it anew from its file."
    : "Leave out `agent`: the session's model answers.";
  return failure("policy_violation", why, { suggestion });
}

function missing(name: string, known: readonly string[]): SubCallError {
  const here = known.length === 0 ? "no agents are lent here" : `agents here are ${known.join(", ")}`;
  return failure("policy_violation", `the agent ${name} is not lent here: ${here}`, {
    suggestion: `${firstly("lendAgent", name)}.`,
  });
}

/** The answer to a call whose agents were ended: each is charged what it held. */
function charged(command: AgentCommand, model: string, begun: number): Answered {
  const { tokens, cost_usd } = reservesOf(command);
  const output = begun * tokens;
  const usd = begun * cost_usd;
  const estimated = { ...(output > 0 ? { estimated: output } : {}), ...(usd > 0 ? { estimated_usd: usd } : {}) };
  const usage = { ...FREE.usage, output, cost_usd: usd, ...estimated };
  const error = guestError(failure("cancelled", "the call was given up"));
  return { settlement: { ok: false, error }, record: { ...FREE, usage, model }, cacheKey: null };
}

/** Ids of the calls of the newest exec that have no result. */
function openCallsIn({ account: { last } }: SessionState): ReadonlySet<string> {
  const open = new Set(last?.calls.map(({ call_id }) => call_id));
  for (const { call_id } of last?.results ?? []) open.delete(call_id);
  return last?.complete ? new Set() : open;
}
