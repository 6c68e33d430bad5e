import { join } from "node:path";
import { type Clock, DEFAULT_BUDGET, type Json } from "../../../runtime/index.ts";
import type { Models } from "../../models/index.ts";
import { agentDirOf } from "../../models/index.ts";
import { homeFolder, indexFolder } from "../../platform/home.ts";
import { jsonOf, withoutUndefined } from "../../platform/json.ts";
import type { Session } from "../../session/index.ts";
import { openSessionWith, type SessionOptions, type SubAgentPolicy } from "../../session/index.ts";
import { optionsOf, type PiSettings, readPiConfig, recordedOf } from "../../settings/index.ts";
import type { BranchHead } from "../branch/entries.ts";
import type { MirroredStore } from "../branch/mirror.ts";

// Loaded beforehand: Pi's loader gives an empty module to an import that comes while the module is being loaded.
import "../../models/index.ts";
import { openSigner } from "../../settings/signed-settings.ts";
import type { Store } from "../../store/index.ts";
import { promptOn } from "../branch/entries.ts";
import { mirrored } from "../branch/mirror.ts";
import { openBranchSessions } from "../branch/sessions.ts";
import type { PiActions, PiContext } from "../host.ts";
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
  /** Tools that Pi can lend to sub-agents. */
  lent(cwd: string): NonNullable<SubAgentPolicy["tools"]>;
}

/** The parts that are open while Pi is on one of its sessions, from the first time that they are needed. */
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
    subAgents: { tools: parts.lent(cwd), approve: (request) => approve(context(), request, runs) },
    onProgress: runs.progress,
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
          models,
          machineEntry,
          clock,
          newId,
          // Each prompt of the user has the budget of the settings.
          questions: { id: () => promptOn(context().sessionManager.getBranch()), most: null },
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

/** Settings in force in this project. @throws RlmError `invalid_config` */
export function settingsAt(cwd: string, env: NodeJS.ProcessEnv): PiSettings {
  return readPiConfig(placesOf(cwd, env));
}

/** The places of settings in force in this project. */
export function placesOf(cwd: string, env: NodeJS.ProcessEnv) {
  return { cwd, env, agentDir: agentDirOf(env), userFile: join(homeFolder(env), "config.json") };
}

/**
 * Asks the user about tools that a sub-agent does not have by itself. Without a user interface the answer is no; if Pi has left the
 * session, the call is suspended until a person can be asked.
 */
async function approve(
  { hasUI, ui }: PiContext,
  { tools, prompt }: { readonly tools: readonly string[]; readonly prompt: string },
  runs: Pick<Runs, "hasLeft" | "suspend">,
): Promise<boolean> {
  if (runs.hasLeft()) {
    runs.suspend();
    return new Promise<never>(() => {});
  }
  if (!hasUI) return false;
  const what = harmless(prompt.slice(0, SHOWN));
  return ui.confirm(harmless(`A sub-agent wants ${tools.join(", ")}`), `It is to do this:\n\n${what}`);
}

const SHOWN = 1_000;

/** @param own options apart from the user's settings; `cwd` is the project, the root of what may be loaded */
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
