import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { openSession, type Session, type SessionOptions } from "../../src/index.ts";
import { openShutdown, serve } from "../../src/mcp/index.ts";
import { newSpec, openInProcess, runsIn, work } from "../../src/runs/index.ts";
import { openSessionWith } from "../../src/session/session.ts";
import { shareStore } from "../../src/store/index.ts";

/** A kind of work that is done again and again. */
export interface Soaked extends AsyncDisposable {
  /** Does it so many times, and leaves nothing open that was not open before. */
  round(times: number): Promise<void>;
}

export interface Place {
  /** An empty folder of its own. */
  readonly folder: string;
  /** The address of the model server. */
  readonly url: string;
}

/** Makes a plain sub-call, and a batch of them. */
const CELL = `[await llm_query("plain", { tools: [] }),
  (await llm_query_batch(["a", "b"], { tools: [], max_concurrent: 2 })).results]`;

export const KINDS: Readonly<Record<string, (place: Place) => Promise<Soaked>>> = {
  execs: soakExecs,
  memory: async ({ url }) => ofSessions({ url }, (session) => useCell(session)),
  disk: async ({ url, folder }) => ofSessions({ url, store: join(folder, "store") }, (session) => useCell(session)),
  asks: async ({ url, folder }) => ofSessions({ url, store: join(folder, "store") }, useAsk),
  jobs: soakJobs,
  mcp: soakMcp,
};

/** The server of the model, until its thread is ended. */
export async function startModel(): Promise<AsyncDisposable & { readonly url: string }> {
  const thread = new Worker(new URL("./model-thread.ts", import.meta.url));
  const [url]: string[] = await once(thread, "message");
  return {
    url: url ?? "",
    async [Symbol.asyncDispose]() {
      await thread.terminate();
    },
  };
}

/** Sessions that are opened, used and closed; every other one has a name, if there is a store. */
function ofSessions(
  { url, store }: { readonly url: string; readonly store?: string },
  use: (session: Session) => Promise<void>,
): Soaked {
  let opened = 0;
  async function once(): Promise<void> {
    const model = { model: "local/m", baseUrl: url };
    const isNamed = opened++ % 2 === 0;
    const place = store === undefined ? {} : { store, ...(isNamed ? { session: `s${opened}` } : {}) };
    const options: SessionOptions = { ...model, ...place };
    await using session = await openSession(options);
    await session.load({ text: "some text", name: "text" });
    await use(session);
  }
  return {
    async round(times) {
      // One after the other, since a thread that is there serves the next one.
      for (let n = 0; n < times; n++) await once();
    },
    async [Symbol.asyncDispose]() {},
  };
}

/** One session, of which a round is so many execs. */
async function soakExecs({ folder }: Place): Promise<Soaked> {
  const session = await openSession({ store: join(folder, "store"), session: "long", budget: BUDGET });
  return {
    async round(times) {
      for (let n = 0; n < times; n++) await useCell(session, "globalThis.n = (globalThis.n ?? 0) + 1");
    },
    [Symbol.asyncDispose]: session.close,
  };
}

async function useCell(session: Session, cell = CELL): Promise<void> {
  const { success, ...told } = await session.exec(cell);
  if (!success) throw new Error(JSON.stringify(told));
}

async function useAsk(session: Session): Promise<void> {
  const { success, ...told } = await session.ask("ask");
  if (!success) throw new Error(JSON.stringify(told));
}

/** A run of its own for each round, over one store. */
async function soakJobs({ folder, url }: Place): Promise<Soaked> {
  const store = await shareStore(join(folder, "store"));
  const runs = runsIn(store);
  let rounds = 0;
  return {
    async round(times) {
      const queue = `queue-${rounds++}`;
      const spec = newSpec({
        script: { name: "s.js", source: 'await llm_query("plain", { tools: [] })' },
        model: "local/m",
        context: "none",
      });
      const limits = { nanodollars: null, tokens: null, sub_calls: null };
      const jobs = Array.from({ length: times }, (_, n) => ({ id: `job-${n}`, input: `${n}`, context: null }));
      const { run } = await runs.submit({ name: queue, queue, share: 1, spec, limits }, jobs);
      const over = new AbortController();
      await using dispatcher = openInProcess();
      let left = times;
      const working = work({
        ...{ store, place: null, queues: [{ name: queue, dispatcher }], concurrency: 1 },
        ...{ signal: over.signal, suspend: new AbortController().signal },
        session: { models: null, baseUrl: url },
        onProgress: ({ kind }) => kind === "left" && --left === 0 && over.abort(),
      });
      await runs.offer(run, dispatcher);
      await working;
      const { done } = await store.jobs.counts(run.id);
      if (done !== times) throw new Error(`${done} of ${times} jobs are done`);
    },
    [Symbol.asyncDispose]: store[Symbol.asyncDispose],
  };
}

/** One server with one client, whose session stays open: a round is so many calls of it. */
async function soakMcp({ folder, url }: Place): Promise<Soaked> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const gone = Promise.withResolvers<number>();
  serve({
    version: "0",
    source: {
      ...{ named: null, roots: [], cwd: folder, home: "/nobody" },
      openStore: () => shareStore(join(folder, "store")),
      open: (store, { row, name, folder: owner, roots, onProgress }) =>
        openSessionWith(
          { session: row?.id ?? name, roots, cwd: folder, onProgress, model: "local/m", baseUrl: url, budget: BUDGET },
          { store, origin: "mcp", settings: () => ({ folder: owner }) },
        ),
      madeFor: () => null,
      folderOf: ({ settings }) => String(Reflect.get(Object(settings), "folder")),
      clientOf: () => null,
    },
    tools: "core",
    limits: { answerMs: 600_000, answerMsWithProgress: 600_000, answerBytes: 40_000 },
    shutdown: openShutdown({ exit: gone.resolve, on() {} }),
    transport: theirs,
    note() {},
  });
  const client = new Client({ name: "soak", version: "0" });
  await client.connect(ours);
  const call = async (name: string, args: Record<string, unknown>) => {
    const { content, isError } = await client.callTool({ name, arguments: args });
    if (isError) throw new Error(JSON.stringify(content));
  };
  writeFileSync(join(folder, "text.txt"), "some text");
  await call("rlm_load", { path: join(folder, "text.txt") });
  return {
    async round(times) {
      for (let n = 0; n < times; n++) await call("rlm_exec", { code: CELL });
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await gone.promise;
    },
  };
}

const BUDGET = { max_sub_calls: 1_000_000, max_tokens: 1_000_000_000, max_time_ms: 86_400_000 };
