import { METHODS, type Method } from "../../eval/index.ts";
import { RlmError } from "../../index.ts";
import { type AgentCommand, type AgentCommands, reservesOf, untoldBy } from "../../platform/agent-commands.ts";
import { canonicalJson } from "../../platform/cell-json.ts";
import { compact, dollars } from "../../platform/figures.ts";
import type { LentAgents } from "../../runs/index.ts";
import { refuseVariables } from "../../settings/index.ts";
import type { RunRequest } from "../batch/run-request.ts";
import { UsageError } from "../flags/usage.ts";
import { unknownAgent } from "../workflow/script.ts";
import { HELP, type Placed } from "./data.ts";

/**
 * The agents that questions are asked beside Belay's own methods: entries of the user's file alone.
 *
 * @throws UsageError, RlmError `invalid_argument`
 */
export function baselineAgents(names: readonly string[], { settings, limits, store }: RunRequest): AgentCommands {
  if (names.length > 0) refuseVariables(["agents"], process.env);
  const known = settings.agents ?? {};
  const limitsCost = limits.nanodollars !== null || settings.max_cost_usd !== undefined;
  const entries = names.map((name) => {
    const command = Object.hasOwn(known, name) ? known[name] : undefined;
    if (!command) throw unknownAgent(name, Object.keys(known));
    if (METHODS.some((method) => method === name)) {
      throw new UsageError(`--baseline ${name}: this is a method of Belay's own; give the agent another name`, HELP);
    }
    if (limitsCost && command.max_usd === undefined) {
      throw new RlmError(
        "policy_violation",
        `the price of the agent ${name} is not known, so no dollars can be limited`,
        {
          suggestion:
            "Set max_usd in its entry of `agents`: the most that one answer may cost. Or limit tokens instead.",
        },
      );
    }
    return [name, command] as const;
  });
  if (entries.length > 0 && store.isServer) {
    const problem = `--baseline runs programs of this computer, and other workers of ${store.shown} have none of them`;
    throw new UsageError(`${problem}: use a folder with --store FOLDER`, HELP);
  }
  return Object.fromEntries(entries);
}

/** A job of a question and method, as it is submitted. */
export interface MethodJob {
  readonly item: Placed;
  readonly method: Method;
  readonly value: { readonly [field: string]: string | number };
}

/** The agents for the jobs that are theirs; null: there are none. @param source of the script */
export function lentAgents(commands: AgentCommands, source: string, jobs: readonly MethodJob[]): LentAgents | null {
  const own = jobs.flatMap(({ item, method, value }) => {
    if (!Object.hasOwn(commands, method)) return [];
    const key = canonicalJson(value) ?? "";
    return [[key, { agent: method, files: item.file }] as const];
  });
  return own.length === 0 ? null : { commands, source, jobs: Object.fromEntries(own) };
}

/** Lines with the money that each answer of the agents holds before it is begun. */
export function heldTexts(commands: AgentCommands): readonly string[] {
  return Object.entries(commands).map(([name, command]) => {
    const { tokens, cost_usd } = reservesOf(command);
    const held = `each answer of ${name}: ${compact(tokens)} tokens`;
    if (command.max_usd === undefined)
      return `${held} are held before it (max_tokens), and its price is not known (max_usd)`;
    return `${held} and ${dollars(cost_usd)} are held before it (max_tokens, max_usd)`;
  });
}

/** The facts of an agent for a report: how it works, and what its answers count as if it does not say. */
export function agentFact(command: AgentCommand): string {
  const { tokens, cost_usd } = reservesOf(command);
  const held = {
    tokens: `${compact(tokens)} tokens`,
    dollars: command.max_usd === undefined ? "no dollars" : dollars(cost_usd),
  };
  const counted = untoldBy(command)
    .map((figure) => held[figure])
    .join(" and ");
  const caveat = counted === "" ? "" : `; it does not say what it takes, and each answer counts as ${counted}`;
  return `an agent of yours, in a copy of each question's files${caveat}`;
}
