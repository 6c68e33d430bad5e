import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { type FauxResponseStep, registerFauxProvider } from "@mariozechner/pi-ai";
import { monotonicFactory } from "ulid";
import { onTestFinished } from "vitest";
import { type Clock, systemClock } from "../../../runtime/index.ts";
import { entryUrl } from "../../../src/entries.ts";
import type { AgentTool } from "../../../src/models/index.ts";
import type { BranchEntry } from "../../../src/pi/externalize/message.ts";
import type { PiActions, PiContext, ToolResultMessage } from "../../../src/pi/host.ts";
import { type Lifecycle, openLifecycle } from "../../../src/pi/lifecycle.ts";
import { type Store, shareStore } from "../../../src/store/index.ts";
import type { ToolEnvelope } from "../../../src/tools/index.ts";
import { tools } from "../../../src/tools/pi-tools.ts";
import { folderWith, type Tree } from "../../support/tree.ts";

/** A session of Pi that lives in memory, with one process on it at a time. */
export interface FakePi {
  /** The project, with the files that were asked for. */
  readonly folder: string;
  /** Entries from the root to the leaf; a test may cut it, which is navigation. */
  readonly branch: BranchEntry[];
  /** Lines that the user was told. */
  readonly told: string[];
  /** What the user was asked to confirm, and did. */
  readonly asked: string[];
  /** Custom messages that were sent. */
  readonly sent: { readonly customType: string; readonly triggerTurn: boolean }[];
  /** What other extensions were told: channel and data. */
  readonly announced: [string, unknown][];
  readonly faux: ReturnType<typeof registerFauxProvider>;
  /** Starts a process: Pi's session_start has been handled, recovery included. */
  start(options?: StartOptions): Promise<Life>;
}

export interface StartOptions {
  /** Replaces the store of this process: one that fails or dies, for example. */
  readonly store?: (store: Store) => Store;
  /** Whether the runtime has `appendMessage` (default true). */
  readonly appends?: boolean;
  readonly hasUI?: boolean;
  /** Does not wait for recovery. */
  readonly hurries?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** What the user answers (default: yes). */
  readonly confirms?: (message: string, signal: AbortSignal | undefined) => Promise<boolean>;
  readonly clock?: Clock;
}

/** The answer of a model that is never given: the process is gone before. */
export function never(): { readonly step: FauxResponseStep; readonly isAsked: () => boolean } {
  let isAsked = false;
  return {
    isAsked: () => isAsked,
    step: async () => {
      isAsked = true;
      return new Promise<never>(() => {});
    },
  };
}

/** A process of Pi. */
export interface Life {
  readonly lifecycle: Lifecycle;
  readonly context: PiContext;
  /** The model calls a tool; its result is appended as Pi does it. */
  call(tool: string, args: unknown, id?: string, signal?: AbortSignal): Promise<ToolEnvelope>;
  /** The model calls a tool, and the process is gone before there is a result. */
  begin(tool: string, args: unknown, id?: string): Promise<unknown>;
  /** The process ends as by a signal that Pi handles; with a reason it goes to another session, and lives on. */
  leave(reason?: string): Promise<void>;
  /** The process ends without a word: its leases are free, and what it still does goes nowhere. */
  die(): Promise<void>;
}

export function fakePi(files: Tree = { "a.txt": "alpha beta alpha\n" }): FakePi {
  const folder = folderWith({ ...prefixed(files), "home/": "" });
  const project = join(folder, "project");
  const branch: BranchEntry[] = [];
  const told: string[] = [];
  const asked: string[] = [];
  const sent: FakePi["sent"] = [];
  const announced: FakePi["announced"] = [];
  const faux = registerFauxProvider({ provider: "faux", models: [{ id: "f" }, { id: "s" }] });
  onTestFinished(() => faux.unregister());
  let calls = 0;
  /** Holds the store open for the whole test: each process would open it anew. */
  let keeper: Promise<Store> | undefined;
  onTestFinished(async () => (await keeper)?.[Symbol.asyncDispose]());
  const pi: FakePi = {
    ...{ folder: project, branch, told, asked, sent, announced, faux },
    async start({
      store: around,
      appends = true,
      hasUI = true,
      hurries = false,
      env = {},
      confirms = async () => true,
      clock = systemClock,
    }: StartOptions = {}) {
      let isDead = false;
      let isStale = false;
      const opened: Store[] = [];
      const append = (entry: BranchEntry) => {
        if (isDead || isStale) throw new Error("This extension ctx is stale");
        branch.push(entry);
      };
      const actions: PiActions = {
        appendEntry: (customType, data) => append({ type: "custom", customType, data }),
        sendMessage: ({ customType }, { triggerTurn }) => void sent.push({ customType, triggerTurn }),
        getActiveTools: () => [],
        getAllTools: () => [],
        setActiveTools() {},
        events: { emit: (channel, data) => void announced.push([channel, data]) },
      };
      const model = faux.getModel();
      const context: PiContext = {
        cwd: project,
        hasUI,
        ui: {
          notify: (message) => void told.push(message),
          async confirm(title, message, { signal } = {}) {
            asked.push(title);
            return confirms(message, signal);
          },
        },
        sessionManager: {
          getBranch: () => [...branch],
          getSessionFile: () => undefined,
          ...(appends
            ? { appendMessage: (message: ToolResultMessage) => void append({ type: "message", message }) }
            : {}),
        },
        modelRegistry: {
          find: (provider, id) => (provider === "faux" ? faux.getModel(id) : undefined),
          getAll: () => faux.models,
          getApiKeyAndHeaders: async () => ({ ok: true, apiKey: "key" }),
        },
        model,
        isIdle: () => true,
        getContextUsage: () => ({ tokens: 1_200, contextWindow: 64_000 }),
        getSystemPrompt: () => "",
      };
      const lifecycle = openLifecycle(
        {
          async openStore(path) {
            keeper ??= shareStore(path);
            const store = mortal(await shareStore(path), () => isDead);
            opened.push(store);
            return around ? around(store) : store;
          },
          machineEntry: entryUrl("machine-thread-entry"),
          env: { HOME: folder, BELAY_HOME: join(folder, "home"), PI_CODING_AGENT_DIR: join(folder, "agent"), ...env },
          clock,
          newId: monotonicFactory(),
          atExit: (line) => void told.push(line),
          lent: () => [bash],
        },
        actions,
      );
      const die = async () => {
        isDead = true;
        lifecycle.runs.suspend();
        for (const store of opened) await store[Symbol.asyncDispose]();
      };
      onTestFinished(die);
      const begin = (tool: string, args: unknown, id: string, signal?: AbortSignal) => {
        const content = [{ type: "toolCall", id, name: tool, arguments: args }];
        append({ type: "message", message: { role: "assistant", stopReason: "toolUse", content } });
        const definition = tools.find(({ name }) => name === tool);
        if (!definition) throw new Error(`no tool ${tool}`);
        return lifecycle.call(definition, { tool_call_id: id, args, signal }, context);
      };
      const freshId = () => {
        calls += 1;
        return `call_${calls}`;
      };
      lifecycle.arrived(context, "start");
      if (!hurries) await recovered(lifecycle);
      return {
        lifecycle,
        context,
        die,
        begin: (tool, args, id = freshId()) => begin(tool, args, id),
        async call(tool, args, id = freshId(), signal = undefined) {
          const { text, details } = await begin(tool, args, id, signal);
          append({
            type: "message",
            message: { role: "toolResult", toolCallId: id, toolName: tool, content: [{ type: "text", text }], details },
          });
          return answerIn(text);
        },
        async leave(reason) {
          await lifecycle.left(reason);
          isStale = true;
          if (reason === undefined) await die();
        },
      };
    },
  };
  return pi;
}

/** Pi over these files, and its first process. */
export async function startedPi(files?: Tree, options?: StartOptions) {
  const pi = fakePi(files);
  return { pi, life: await pi.start(options) };
}

/** The store of a process that may die: what it still commits and releases is no longer its own. */
function mortal(store: Store, isDead: () => boolean): Store {
  return {
    ...store,
    commit: async (session, step) => {
      if (isDead()) throw new Error("the process is dead");
      return store.commit(session, step);
    },
    async release(id) {
      if (!isDead()) await store.release(id);
    },
  };
}

/** Waits until nothing is being recovered any more. */
export async function recovered(lifecycle: Lifecycle): Promise<void> {
  await until(() => !lifecycle.isRecovering());
}

/** Looks again and again, with room for the threads that do the work. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await setTimeout(2);
}

/** Results of tools on a branch: texts by the id of the call. */
export function resultsOn(branch: readonly BranchEntry[]): Readonly<Record<string, ToolEnvelope>> {
  const results = branch.flatMap(({ message }): [string, ToolEnvelope][] => {
    if (typeof message !== "object" || message === null || !("toolCallId" in message)) return [];
    const { toolCallId, content } = JSON.parse(JSON.stringify(message));
    return [[toolCallId, answerIn(content[0].text)]];
  });
  return Object.fromEntries(results);
}

/** Tools that answer with text alone have it in the field `text`. */
function answerIn(text: string): ToolEnvelope {
  return text.startsWith("{") ? JSON.parse(text) : { success: true, text };
}

/** Entries of ours on a branch, in order: `rlm_start cell`, `rlm_complete cell ok`. */
export function mirrorOn(branch: readonly BranchEntry[]): string[] {
  return branch.flatMap(({ customType, data }) => {
    if (customType === undefined) return [];
    const { kind, success } = JSON.parse(JSON.stringify(data));
    return [[customType, kind, success === false ? "failed" : undefined].filter(Boolean).join(" ")];
  });
}

/** A tool with side effects that has none. */
const bash: AgentTool = {
  ...{ name: "bash", description: "Runs a command", parameters: { type: "object" }, sideEffects: true },
  run: async () => ({ text: "done" }),
};

function prefixed(files: Tree): Tree {
  return Object.fromEntries(Object.entries(files).map(([path, content]) => [`project/${path}`, content]));
}
