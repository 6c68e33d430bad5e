import type { Api, Model as PiModel, streamSimple } from "@mariozechner/pi-ai";
import * as ai from "@mariozechner/pi-ai";
import type {
  ContextEvent,
  ExtensionAPI,
  ExtensionContext,
  ExtensionUIContext,
  SessionBeforeCompactEvent,
} from "@mariozechner/pi-coding-agent";
import * as agent from "@mariozechner/pi-coding-agent";
import * as tui from "@mariozechner/pi-tui";
import { RlmError } from "../../runtime/index.ts";
import type { BranchEntry } from "./externalize/message.ts";

/** Pi's registry of models and keys, as far as it is used. */
export interface PiRegistry {
  find(provider: string, id: string): PiModel<Api> | undefined;
  getAll(): readonly PiModel<Api>[];
  getApiKeyAndHeaders(model: PiModel<Api>): Promise<PiAuthorization>;
  /** Newer Pi: sends with the provider that extensions may have registered. */
  readonly streamSimple?: typeof streamSimple;
}

type PiAuthorization =
  | { readonly ok: true; readonly apiKey?: string; readonly headers?: Readonly<Record<string, string | null>> }
  | { readonly ok: false; readonly error: string };

/** Pi's bus between extensions, `pi.events`. */
export interface EventBus {
  emit(channel: string, data: unknown): void;
}

/** The part of a running Pi that is used: the context of its events and tools. */
export interface PiContext extends Readonly<Pick<ExtensionContext, "cwd" | "hasUI" | "isIdle" | "getSystemPrompt">> {
  readonly ui: Pick<ExtensionUIContext, "notify" | "confirm">;
  readonly sessionManager: {
    getBranch(): readonly BranchEntry[];
    getSessionFile(): string | undefined;
  };
  readonly modelRegistry: PiRegistry;
  readonly model: PiModel<Api> | undefined;
  /** From Pi 0.87 on: settings of a project count only if the user trusts it. */
  isProjectTrusted?(): boolean;
  /**
   * Tokens of the last request, as its provider counted them, with what came since; null if they
   * are not known.
   */
  getContextUsage(): { readonly tokens: number | null; readonly contextWindow: number } | undefined;
}

/** Actions of extensions. All but registering throws while they are loaded. */
export interface PiActions {
  appendEntry(customType: string, data: object): void;
  sendMessage(
    message: { customType: string; content: string; display: boolean; details?: object },
    options: { triggerTurn: boolean },
  ): void;
  getActiveTools(): string[];
  getAllTools(): { readonly name: string; readonly description: string; readonly parameters: unknown }[];
  setActiveTools(names: string[]): void;
  /** The bus between extensions. */
  readonly events: EventBus;
}

/** A result of a tool, as Pi's session has it. */
export interface ToolResultMessage {
  readonly role: "toolResult";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly content: { type: "text"; text: string }[];
  readonly details: unknown;
  readonly isError: boolean;
  /** ms since the epoch. */
  readonly timestamp: number;
}

/**
 * Appends a message to the session. Every known Pi has the method, but not among its public types.
 * Returns false if this one lacks it.
 */
export function appendMessage(manager: PiContext["sessionManager"], message: ToolResultMessage): boolean {
  const append: unknown = Reflect.get(manager, "appendMessage");
  if (typeof append !== "function") return false;
  Reflect.apply(append, manager, [message]);
  return true;
}

/**
 * The context of a session as it is when Pi leaves it: Pi's own throws from then on. Nobody is
 * there to be asked.
 */
export function contextLeft({ cwd, sessionManager, modelRegistry, model }: PiContext): PiContext {
  const branch = sessionManager.getBranch();
  const file = sessionManager.getSessionFile();
  return {
    cwd,
    modelRegistry,
    model,
    hasUI: false,
    ui: { notify() {}, confirm: async () => false },
    sessionManager: { getBranch: () => branch, getSessionFile: () => file },
    isIdle: () => false,
    getSystemPrompt: () => "",
    getContextUsage: () => undefined,
  };
}

/** True if this Pi may abort what runs before it tells that it quits, as 1.5 and later do. */
export const quitsByAbort = (actions: PiActions) => "registerMcpServer" in actions;

type Messages = ContextEvent["messages"];

/**
 * Has a handler change the messages of every request. Pi before 0.87 has one hook for it. Later
 * ones have a second, whose handlers see the messages of the system and leave them in their places,
 * so that there it is the one that acts.
 */
export function onRequest(pi: Pick<ExtensionAPI, "on">, handler: (messages: Messages) => Messages): void {
  pi.on("context", ({ messages }, context) => (hasSystemMessages(context) ? {} : { messages: handler(messages) }));
  const withSystem = ({ messages }: ContextEvent, context: Pick<PiContext, "sessionManager">) =>
    hasSystemMessages(context) ? { messages: handler(messages) } : {};
  Reflect.apply(pi.on, pi, ["context_with_system", withSystem]);
}

function hasSystemMessages({ sessionManager }: Pick<PiContext, "sessionManager">): boolean {
  return typeof Reflect.get(sessionManager, "buildSessionProjection") === "function";
}

/**
 * Tokens that Pi's settings keep free for an answer of its model; null if this host does not say,
 * or they are wrong.
 */
export function reserveOf(context: PiContext, agentDir: string): number | null {
  const { cwd, model } = context;
  try {
    const manager = fromHost("pi-coding-agent", "SettingsManager");
    const projectTrusted = context.isProjectTrusted?.() ?? true;
    const settings: unknown = Reflect.apply(manager.create, manager, [cwd, agentDir, { projectTrusted }]);
    // Later versions have settings of a model of its own.
    const read = Reflect.get(Object(settings), "getCompactionSettings");
    const reserveTokens: unknown = Reflect.get(Object(Reflect.apply(read, settings, [model])), "reserveTokens");
    return typeof reserveTokens === "number" && Number.isSafeInteger(reserveTokens) ? reserveTokens : null;
  } catch {
    return null;
  }
}

/**
 * The messages that Pi would have a model summarize: that which goes, and the part of a turn whose
 * rest is kept.
 */
export function summariesOf(
  { preparation, customInstructions = "" }: SessionBeforeCompactEvent,
  context: Pick<PiContext, "sessionManager" | "model">,
) {
  const { messagesToSummarize, turnPrefixMessages, previousSummary = "", settings } = preparation;
  // Pi before 0.87 asks for more tokens than the model may answer with.
  const most = (hasSystemMessages(context) && context.model?.maxTokens) || Number.POSITIVE_INFINITY;
  const others = previousSummary.length + customInstructions.length;
  return [
    { messages: messagesToSummarize, others, answer: Math.min(0.8 * settings.reserveTokens, most) },
    { messages: turnPrefixMessages, others: 0, answer: Math.min(0.5 * settings.reserveTokens, most) },
  ];
}

// All values of Pi's packages come through here. A fork of Pi may lack some of them, and its loader
// gives undefined for these. Each is looked for when it is used, so that only what needs it fails.

const PACKAGES = { "pi-ai": ai, "pi-coding-agent": agent, "pi-tui": tui };
type Packages = typeof PACKAGES;

/**
 * A function or class of a package of the host. @throws RlmError `host_incompatible` if the host
 * lacks it
 */
export function fromHost<P extends keyof Packages, N extends keyof Packages[P] & string>(
  from: P,
  name: N,
): Packages[P][N] {
  const found = PACKAGES[from][name];
  if (typeof found === "function") return found;
  throw new RlmError("host_incompatible", `this host has no ${name} in its ${from}`, {
    suggestion: "Update the host, or use a Pi that docs/pi.md names.",
  });
}

/** True if the host has all of these. */
export function hostHas<P extends keyof Packages>(from: P, names: readonly (keyof Packages[P])[]): boolean {
  return names.every((name) => typeof PACKAGES[from][name] === "function");
}
