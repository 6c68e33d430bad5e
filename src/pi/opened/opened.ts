import { join } from "node:path";
import { type Clock, DEFAULT_BUDGET, type Json, LIMITS, RlmError } from "../../../runtime/index.ts";
import { type AgentTool, agentDirOf, type Models } from "../../models/index.ts";
import { homeFolder, indexFolder, userHome } from "../../platform/home.ts";
import { jsonOf, withoutUndefined } from "../../platform/json.ts";
import { openSessionWith, type Session, type SessionOptions, type SubAgentPolicy } from "../../session/index.ts";
import { optionsOf, type PiSettings, readPiConfig, recordedOf, refuseVariables } from "../../settings/index.ts";
import type { BranchHead } from "../branch/entries.ts";
import { messageOn } from "../branch/messages.ts";
import { type MirroredStore, mirrored } from "../branch/mirror.ts";
import type { BranchEntry } from "../externalize/message.ts";

// Loaded beforehand: Pi's loader gives an empty module to an import that comes while the module is
// being loaded.
import "../../models/index.ts";

import { messageOf } from "../../platform/errors.ts";
import { openSigner } from "../../settings/signed-settings.ts";
import type { Store } from "../../store/index.ts";
import { WORKFLOW_BUDGET, workflowOptions } from "../../workflow/index.ts";
import { openBranchSessions } from "../branch/sessions.ts";
import { fromHost, hostHas, type PiActions, type PiContext } from "../host.ts";
import type { Runs } from "../runs/runs.ts";
import { harmless } from "../view/texts.ts";
import { openPiModels } from "./models.ts";

/** Parts that a test or another host may replace. */
export interface OpenedParts {
  /** Opens the store in this folder. */
  openStore(folder: string): Promise<Store>;
  readonly machineEntry: URL;
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Prints a line once Pi has given the terminal back. */
  atExit(line: string): void;
  /** Tools that Pi can lend to sub-agents. */
  lent(cwd: string): NonNullable<SubAgentPolicy["tools"]>;
}

/**
 * The parts that are open while Pi is on one of its sessions, from the first time that they are
 * needed.
 */
export interface Opened {
  readonly settings: PiSettings;
  readonly budget: { max_tokens: number; max_sub_calls: number; max_time_ms: number; max_cost_usd: number | null };
  readonly store: MirroredStore;
  readonly sessions: {
    current: () => Session | null;
    close: () => Promise<void>;
    at(head: BranchHead | null, isReset: boolean): Promise<Session>;
    interrupted: (id: string) => Promise<Session>;
  };
  readonly models: Models;
  [Symbol.asyncDispose](): Promise<void>;
}

/** @throws RlmError `invalid_config`, `store_failed` and the like */
export async function openForSession(
  parts: OpenedParts,
  context: () => PiContext,
  actions: PiActions,
  runs: Runs,
): Promise<Opened> {
  const { env } = parts;
  const { cwd } = context();
  refuseVariables(["convert"], env);
  const settings = settingsAt(cwd, env);
  const folder = homeFolder(env);
  const unmirrored = await parts.openStore(folder);
  const signer = openSigner(folder, env);
  const store = mirrored(unmirrored, {
    toolCallId: runs.toolCallId,
    append: (type, data) => actions.appendEntry(type, data),
    kept: runs.kept,
  });
  const models = openPiModels(context, settings.sub_model);
  const options = sessionOptionsOf(settings, {
    cwd,
    ...withoutUndefined({ indexDir: indexFolder(env) }),
    subAgents: { tools: parts.lent(cwd), approve: openApproval(context, runs) },
    onProgress: runs.progress,
    ...agentsLent(settings, { cwd, belayHome: folder }),
  });
  const { machineEntry, clock, newId } = parts;
  const sessions = openBranchSessions({
    store,
    newId,
    clock,
    open: (id) =>
      openSessionWith(
        { ...options, ...(id === null ? {} : { session: id }) },
        {
          store,
          origin: "pi",
          signer,
          models,
          machineEntry,
          clock,
          newId,
          // Each prompt of the user has the budget of the settings.
          questions: {
            id: () => promptOn(context().sessionManager.getBranch()),
            most: null,
            ...(settings.agents ? { workflow: WORKFLOW_BUDGET } : {}),
          },
          settings: (session) => signer.sign(settingsToKeep(settings, models.fallback, cwd), session),
        },
      ),
  });
  return {
    settings,
    budget: { ...DEFAULT_BUDGET, ...optionsOf(settings).budget },
    store,
    sessions,
    models,
    async [Symbol.asyncDispose]() {
      await sessions.close();
      await unmirrored[Symbol.asyncDispose]();
    },
  };
}

/**
 * The id of the newest prompt of the user on a branch: that of its entry, or its number if entries
 * have none.
 */
function promptOn(entries: readonly BranchEntry[]): string {
  const prompts = entries.filter((entry) => messageOn(entry)?.role === "user");
  return prompts.at(-1)?.id ?? `prompt-${prompts.length}`;
}

/** Settings in force in this project. @throws RlmError `invalid_config` */
export function settingsAt(cwd: string, env: NodeJS.ProcessEnv): PiSettings {
  return readPiConfig(placesOf(cwd, env));
}

/** The places of settings in force in this project. */
export function placesOf(cwd: string, env: NodeJS.ProcessEnv) {
  return { cwd, env, agentDir: agentDirOf(env), userFile: join(homeFolder(env), "config.json") };
}

/** True if the model may direct agents: the user has set `agents`, which may be empty. */
export function offersWorkflows(env: NodeJS.ProcessEnv): boolean {
  try {
    return settingsAt(process.cwd(), env).agents !== undefined;
  } catch {
    // Wrong settings are reported when a call needs them.
    return false;
  }
}

/** The part of workflows in a session's options, if the user has set `agents`. */
function agentsLent(
  { agents, concurrency = LIMITS.workflowAtOnce }: PiSettings,
  { cwd, belayHome }: { readonly cwd: string; readonly belayHome: string },
): Pick<SessionOptions, "agents" | "functions" | "waitsForUser" | "concurrency"> {
  if (!agents) return {};
  return { ...workflowOptions(agents, { cwd, home: userHome(), belayHome }), concurrency };
}

/** A request to lend a sub-agent tools, or to run an agent of the user's. */
type Request = Parameters<NonNullable<SubAgentPolicy["approve"]>>[0];

/**
 * Asks the user about tools that a sub-agent does not have by itself, and once about each agent.
 * Without a user interface the answer is no; if Pi has left the session, the call is suspended until a
 * person can be asked.
 */
function openApproval(context: () => PiContext, runs: Pick<Runs, "hasLeft" | "suspend">) {
  const agents = new Map<string, Promise<boolean>>();

  async function ask(request: Request): Promise<boolean> {
    if (runs.hasLeft()) {
      runs.suspend();
      return new Promise<never>(() => {});
    }
    const { hasUI, ui } = context();
    if (!hasUI) return false;
    const names = request.tools.join(", ");
    const title =
      request.builtin === "agent" ? `A workflow wants to run the agent ${names}` : `A sub-agent wants ${names}`;
    const what = harmless(request.prompt.slice(0, SHOWN));
    return ui.confirm(harmless(title), `It is to do this:\n\n${what}`);
  }

  return async function approve(request: Request): Promise<boolean> {
    if (request.builtin !== "agent") return ask(request);
    const key = request.tools.join();
    const answer = agents.get(key) ?? ask(request);
    agents.set(key, answer);
    const isAllowed = await answer;
    // A refusal holds for the workflow that asked.
    if (!isAllowed) agents.delete(key);
    return isAllowed;
  };
}

const SHOWN = 1_000;

/**
 * @param own options apart from the user's settings; `cwd` is the project, the root of what may be
 * loaded
 */
function sessionOptionsOf(settings: PiSettings, own: SessionOptions & { readonly cwd: string }): SessionOptions {
  const { allowed_tool_overrides, require_approval, convert, delivery: _, ...rest } = settings;
  const { subAgents, ...options } = optionsOf(rest);
  return {
    ...own,
    ...options,
    roots: [own.cwd, ...(settings.roots ?? [])],
    subAgents: { ...own.subAgents, ...subAgents, ...withoutUndefined({ allowed_tool_overrides, require_approval }) },
    ...withoutUndefined({ convert }),
  };
}

/** The settings that are kept with the session, so that the command can continue it. */
function settingsToKeep(settings: PiSettings, model: string | null, cwd: string): Json {
  const { delivery: _, roots = [], ...recorded } = recordedOf(settings);
  const kept = { ...recorded, ...withoutUndefined({ model: model ?? undefined }), roots: [cwd, ...roots] };
  return jsonOf({ settings: kept, cwd });
}

/** The answer of a tool of Pi's agent, as far as it is used. */
type PiToolAnswer = { readonly content: readonly { readonly type: string; readonly text?: string }[] };

/**
 * The tools that Pi can lend to sub-agents if the user allows it: its own bash, write and edit in
 * the project, those that it has.
 */
export function lentTools(cwd: string): AgentTool[] {
  const bash = lent(
    { name: "bash", description: "Run a bash command in the project's folder. Returns stdout and stderr." },
    () => fromHost("pi-coding-agent", "createBashTool")(cwd),
    (tool, args, signal) => tool.execute("", { command: "", ...args }, signal),
  );
  const write = lent(
    {
      name: "write",
      description: "Write a file. It and its folders are made if missing, and what it held is replaced.",
    },
    () => fromHost("pi-coding-agent", "createWriteTool")(cwd),
    (tool, args, signal) => tool.execute("", { path: "", content: "", ...args }, signal),
  );
  const edit = lent(
    { name: "edit", description: "Replace texts in one file. Each old text must be exact, and occur once." },
    () => fromHost("pi-coding-agent", "createEditTool")(cwd),
    (tool, args, signal) => tool.execute("", { path: "", edits: [], ...args }, signal),
  );
  return [
    ...(hostHas("pi-coding-agent", ["createBashTool"]) ? [bash] : []),
    ...(hostHas("pi-coding-agent", ["createWriteTool"]) ? [write] : []),
    ...(hostHas("pi-coding-agent", ["createEditTool"]) ? [edit] : []),
  ];
}

/**
 * A tool that is made when a sub-agent first has it, so that a host whose tool cannot be made fails
 * that call alone. Pi's tools reject when they fail. The sub-agent then reads the error's message.
 */
export function lent<T extends { readonly parameters: object }>(
  { name, description }: Pick<AgentTool, "name" | "description">,
  make: () => T,
  execute: (tool: T, args: { readonly [name: string]: Json }, signal: AbortSignal) => Promise<PiToolAnswer>,
): AgentTool {
  let made: T | null = null;
  function tool(): T {
    try {
      made ??= make();
      return made;
    } catch (cause) {
      if (cause instanceof RlmError) throw cause;
      const reason = messageOf(cause);
      const suggestion = "Leave the tool out, update the host, or use a Pi that docs/pi.md names.";
      throw new RlmError("host_incompatible", `this host's ${name} cannot be made: ${reason}`, { suggestion, cause });
    }
  }
  return {
    name,
    description,
    get parameters() {
      return jsonOf(tool().parameters);
    },
    sideEffects: true,
    async run(args, signal) {
      const { content } = await execute(tool(), args, signal);
      return { text: content.map(({ text = "" }) => text).join("\n") };
    },
  };
}
