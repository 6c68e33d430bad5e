import { LIMITS } from "../../../runtime/index.ts";
import { type Json, RlmError, type SessionOptions } from "../../index.ts";
import type { SessionSource } from "../../mcp/index.ts";
import type { AgentCommand, AgentCommands } from "../../platform/agent-commands.ts";
import { homeFolder } from "../../platform/home.ts";
import { meantBy } from "../../platform/nearest.ts";
import { newUlid } from "../../platform/new-ulid.ts";
import { openSessionWith } from "../../session/index.ts";
import { refuseVariables, SETTINGS } from "../../settings/index.ts";
import { openSigner } from "../../settings/signed-settings.ts";
import { WORKFLOW_BUDGET, workflowHost, workflowOptions } from "../../workflow/index.ts";
import type { Host } from "../commands/define.ts";
import type { Arguments } from "../flags/arguments.ts";
import { sessionFlags } from "../flags/session-flags.ts";
import { UsageError } from "../flags/usage.ts";
import { processTerminal } from "../render/terminal.ts";
import { openKeeping } from "../session/keeping.ts";
import { optionsOf, rowOf } from "../session/recorded-settings.ts";
import { hasUnfinishedWork } from "../session/session.ts";
import { checkPrice, readSettings, settingsFromFiles } from "../session/settings.ts";
import { workflowPlaces } from "../session/workflow-options.ts";
import { openSendingStore } from "../store/open-store.ts";

/** The workflows that a server runs for its clients. */
export interface LentWorkflows {
  readonly runsWorkflows: boolean;
  /** Names of the user's agents that workflows may run. */
  readonly agents: readonly string[];
}

/**
 * Opens the store and the sessions of a server. A session has the settings of this server: a
 * client's entry says what holds, not what an earlier one recorded. For a session that the command
 * or a program made, what the user began it with holds too.
 *
 * @param place of the store
 */
export function openingOf(
  args: Arguments,
  host: Host,
  place: string,
  lent: LentWorkflows,
): Pick<Required<SessionSource>, "openStore" | "open" | "workflows"> {
  const { stderr } = processTerminal(() => {});
  const signer = openSigner(place, process.env);
  const { runsWorkflows } = lent;
  return {
    async workflows() {
      refuseVariables(["agent_models"], process.env);
      const settings = await orInvalid(async () => readSettings(sessionFlags(args, "mcp")));
      return workflowHost(settings, homeFolder(process.env));
    },
    async openStore() {
      const { otlp } = await orInvalid(async () => readSettings(sessionFlags(args, "mcp")));
      const say = (line: string) => stderr.line(`belay mcp: ${line}`);
      return openSendingStore(place, host, { otlp, say });
    },
    async open(store, { row, name, folder, roots, onProgress, client }) {
      const isOfServer = row === null || row.origin === "mcp";
      const kept = { store, folder: place };
      const isTakenUp = row !== null && !isOfServer && hasUnfinishedWork(row);
      const recorded = { kept, row: isOfServer ? null : row, isTakenUp, looksOnly: false };
      const keeping = await orInvalid(() =>
        openKeeping(recorded, { ...sessionFlags(args, "mcp"), contexts: roots }, stderr),
      );
      checkPrice(keeping.settings.settings);
      const { max_session_budgets: most = SETTINGS.max_session_budgets.default } = keeping.settings.settings;
      // Each call of the client is a question of its own.
      const questions = { id: () => newUlid(), most, ...(runsWorkflows ? { workflow: WORKFLOW_BUDGET } : {}) };
      const own = { folder, ...(client === null ? {} : { client }) };
      const owned = (id: string): Json => signer.sign(rowOf({ first: keeping.settings, newest: null }, own), id);
      const options = optionsOf(keeping.settings);
      const session = await openSessionWith(
        {
          ...options,
          ...(runsWorkflows ? await agentsLent(lent, { folder, options }) : {}),
          delivery: "now",
          session: row?.id ?? name,
          onProgress,
        },
        { store, origin: "mcp", settings: isOfServer ? owned : keeping.signed, signer, questions },
      );
      try {
        if (session.unfinished()) keeping.checkRecorded();
        await keeping.accept(session.id);
        return session;
      } catch (error) {
        await session.close();
        throw error;
      }
    },
  };
}

interface Opened {
  /** The folder that the session belongs to. */
  readonly folder: string;
  readonly options: SessionOptions;
}

/**
 * The part of workflows in a session's options. Also a run of `belay workflow` that a client opens has
 * the agents that the user lends to this server, and no others.
 *
 * @throws RlmError `invalid_config`
 */
async function agentsLent({ agents }: LentWorkflows, { folder, options }: Opened): Promise<SessionOptions> {
  const { agents: known = {} } = await orInvalid(async () => settingsFromFiles("agents"));
  const lent = agents.map((name) => [name, agentNamed(known, name)] as const);
  const concurrency = options.concurrency ?? LIMITS.workflowAtOnce;
  return { ...workflowOptions(Object.fromEntries(lent), workflowPlaces(folder)), concurrency };
}

/** @throws RlmError `invalid_config` */
function agentNamed(known: AgentCommands, name: string): AgentCommand {
  const command = Object.hasOwn(known, name) ? known[name] : undefined;
  if (command) return command;
  const meant = meantBy(name, Object.keys(known));
  throw new RlmError("invalid_config", `--agents: ${name} is not in \`agents\` of ~/.belay/config.json${meant}`, {
    suggestion: "Ask the user to correct the arguments of this server, or to add the agent to that file.",
  });
}

/**
 * A client's model is told what is wrong with the arguments of its server.
 *
 * @throws RlmError `invalid_config`
 */
async function orInvalid<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const suggestion = "Ask the user to correct the arguments of this server.";
    throw new RlmError("invalid_config", error.message, { suggestion });
  }
}
