import { join } from "node:path";
import { systemClock } from "../../../../runtime/index.ts";
import type { BranchEntry } from "../../../../src/pi/externalize/message.ts";
import { openReadCache } from "../../../../src/pi/read-cache/index.ts";
import type { PiSettings } from "../../../../src/settings/index.ts";
import { type Asked, piRead } from "../../../support/read-cache/pi-read.ts";
import { folderWith, type Tree } from "../../../support/tree.ts";

type ReadCacheHost = Parameters<typeof openReadCache>[0];

type ReadCacheParts = Parameters<typeof openReadCache>[1];

type Handler = (event: object, context: object) => unknown;

/** A result of `read` as Pi sends and stores it. */
export interface SentRead {
  readonly text: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  /** What the handler gave back. */
  readonly returned: object;
}

export interface FakeOptions {
  readonly files?: Tree;
  readonly settings?: PiSettings | Error;
  /** Tools that another extension has registered. */
  readonly tools?: readonly string[];
  readonly store?: ReadCacheParts["store"];
  readonly hasUI?: boolean;
}

/** A session of Pi without Pi: reads are answered as Pi does it, and the read cache of one process looks on. */
export function fakeReads(options: FakeOptions = {}) {
  const { files = {}, settings = { read_cache: true }, tools = [], hasUI = true } = options;
  const folder = folderWith(files);
  const branch: BranchEntry[] = [];
  const told: string[] = [];
  const written: string[] = [];
  const shown: (string | undefined)[] = [];
  const texts = new Map<string, string>();
  let handlers = new Map<string, Handler>();
  let registered = new Map<string, Readonly<Record<string, unknown>>>();
  const aborted = new AbortController();
  const context = {
    cwd: folder,
    hasUI,
    signal: aborted.signal,
    ui: {
      notify: (text: string) => void told.push(text),
      setStatus: (_key: string, text: string | undefined) => void shown.push(text),
    },
    sessionManager: { getBranch: () => [...branch] },
  };
  const push = (entry: BranchEntry) => void branch.push({ ...entry, id: `e${branch.length}` });
  const store: ReadCacheParts["store"] = async () => ({
    cached: async (key) => texts.get(key) ?? null,
    keepText: async (hash, text) => void texts.set(`text:${hash}`, text),
  });

  function start() {
    handlers = new Map();
    registered = new Map(tools.map((name) => [name, {}]));
    const pi: ReadCacheHost = Object.assign(Object.create(null), {
      on: (event: string, handler: Handler) => void handlers.set(event, handler),
      registerTool: (tool: { name: string }) => void registered.set(tool.name, { ...tool }),
      registerCommand: (name: string, command: object) => void registered.set(`/${name}`, { ...command }),
      appendEntry: (customType: string, data: object) => push({ type: "custom", customType, data }),
      getActiveTools: () => [...registered.keys()],
      getAllTools: () => tools.map((name) => ({ name })),
    });
    const cache = openReadCache(pi, {
      settings() {
        if (settings instanceof Error) throw settings;
        return settings;
      },
      store: options.store ?? store,
      clock: systemClock,
      write: (text) => void written.push(text),
    });
    cache.arrived(context);
    return cache;
  }
  let cache = start();
  let calls = 0;

  /** The model is asked, with the messages of the branch: `prune` is an extension behind Belay. */
  function request(prune: (text: string) => string = (text) => text): void {
    const messages = branch.flatMap(({ message }) => (message ? [JSON.parse(JSON.stringify(message))] : []));
    cache.requested(messages);
    const payload = { messages: messages.map(({ content }) => ({ content: prune(content?.[0]?.text ?? "") })) };
    handlers.get("before_provider_request")?.({ payload }, context);
  }

  function call(...uses: { name: string; args: object }[]): readonly string[] {
    const ids = uses.map(() => `call_${calls++}`);
    const content = uses.map(({ name, args }, n) => ({ type: "toolCall", id: ids[n], name, arguments: args }));
    push({ type: "message", message: { role: "assistant", stopReason: "toolUse", content } });
    return ids;
  }

  /** Pi's answer to a call, as handlers leave it. */
  async function answer(id: string, path: string, asked: Asked, file: string, more: object = {}): Promise<SentRead> {
    const { text, truncation } = piRead(file, asked);
    const details = truncation === undefined ? undefined : { truncation };
    const input = { path, ...asked };
    const event = { toolCallId: id, toolName: "read", input, content: [{ type: "text", text }], isError: false };
    const result: unknown = await handlers.get("tool_result")?.({ ...event, details, ...more }, context);
    const returned: { content?: { text: string }[]; details?: Record<string, unknown> } = Object.assign({}, result);
    return { text: returned.content?.[0]?.text ?? text, details: returned.details ?? details, returned };
  }

  function append(id: string, { text, details }: Pick<SentRead, "text" | "details">): void {
    const message = {
      ...{ role: "toolResult", toolCallId: id, toolName: "read", content: [{ type: "text", text }], details },
    };
    push({ type: "message", message: { ...message, isError: false } });
  }

  return {
    ...{ folder, branch, told, written },
    /** What the footer showed. */
    shown,
    texts,
    push,
    abort: () => aborted.abort(),
    path: (name: string) => join(folder, name),
    request,
    call,
    answer,
    append,
    handler: (name: string) => (event: object) => handlers.get(name)?.(event, context),
    registered: () => registered,
    left: () => cache.left(),
    /** Another process goes on with the session. */
    restart() {
      cache = start();
    },
    /** One whole step: the model is asked, reads a file, and gets the answer. */
    async read(path: string, file: string, asked: Asked = {}): Promise<SentRead> {
      request();
      const [id = ""] = call({ name: "read", args: { path, ...asked } });
      const sent = await answer(id, path, asked, file);
      append(id, sent);
      return sent;
    },
    /** Calls a registered tool or command. */
    async run(name: string, ...args: readonly unknown[]): Promise<unknown> {
      const { execute, handler } = registered.get(name) ?? {};
      const work = execute ?? handler;
      if (typeof work !== "function") throw new Error(`no ${name}`);
      return Reflect.apply(work, undefined, [...args, context]);
    },
  };
}
