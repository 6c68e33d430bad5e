import { once } from "node:events";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { Session, SessionOptions, SessionStore } from "../src/index.ts";
import { bareRequest } from "./bare-model.ts";
import { size } from "./size.ts";

// Measures asks in a process of its own, so that nothing else is in its memory; prints it as JSON. Arguments: the built
// library, the folder of its store, how many children are at once.

/** Times in ms, sizes in bytes. */
export interface Asks {
  /** From a turn's beginning until its reply is kept; a request of pi-ai alone, for comparison. */
  readonly turns: readonly number[];
  readonly bare: readonly number[];
  /** From a turn's beginning until its request has arrived, and from its reply's end until that is kept. */
  readonly asking: readonly number[];
  readonly replying: readonly number[];
  /** A small cell: run and kept. */
  readonly cells: readonly number[];
  /** JSON of the records of a turn with its cell. */
  readonly journal: number;
  /** A call with context, one after the other: all of it. */
  readonly children: readonly number[];
  /** What a child adds to the store. */
  readonly stored: number;
  /** What a child adds to resident memory while it lives. */
  readonly resident: number;
  /** Some children at once, with the places and guests of a session. */
  readonly tree: number;
}

const TURNS = size(60, 1);
const CHILDREN = size(12, 1);
const HELD = size(4, 1);
const HOLD_MS = size(3000, 10);
const [library = "", store = "", together = ""] = process.argv.slice(2);
const built: {
  openSession(options?: SessionOptions): Promise<Session>;
  openStore(folder: string): Promise<SessionStore>;
} = await import(library);
const { shareStore }: typeof import("../src/store/open.ts") = await import(join(library, "../store/open.js"));
const model = new Worker(new URL("./ask-model.ts", import.meta.url), {
  workerData: { turns: TURNS, holdMs: HOLD_MS },
});
const [url]: string[] = await once(model, "message");
console.log(JSON.stringify(await measured(url ?? "")));
process.exit();

async function measured(baseUrl: string): Promise<Asks> {
  const phases: (readonly [string, number])[] = [];
  const session = await built.openSession({
    store,
    session: "bench",
    model: "local/bench",
    baseUrl,
    budget: { max_sub_calls: 1_000_000, max_tokens: 1_000_000_000, max_time_ms: 3_600_000 },
    onProgress: (progress) => {
      if (progress.kind === "turn" && progress.depth === 0) phases.push([progress.phase, now()]);
    },
  });
  await session.load({ text: "0123456789".repeat(1000), name: "digits" });
  const asked = await asksOf(session, phases);
  const bare: number[] = [];
  for (let n = 0; n < TURNS; n++) bare.push(await timed(() => bareRequest(baseUrl)));
  const before = await bytes();
  const children: number[] = [];
  for (let n = 0; n < CHILDREN; n++) children.push(await timed(() => run(session, `await ${call("child")}`)));
  const stored = ((await bytes()) - before) / CHILDREN;
  const resident = await residentOf(session);
  const outer = `llm_query_batch(Array.from({ length: ${together} }, () => ({ prompt: "child", context: list_docs() })))`;
  const tree = await timed(() => run(session, `(await ${outer}).results.length`));
  await session.close();
  return { ...asked, bare, children, stored, resident, tree };
}

async function asksOf(session: Session, phases: readonly (readonly [string, number])[]) {
  const envelope = await session.ask("turns", { maxTurns: 100 });
  if (!envelope.success) throw new Error(JSON.stringify(envelope));
  model.postMessage("times");
  const [requests]: (readonly [number, number])[][] = await once(model, "message");
  const at = (phase: string) => phases.filter(([name]) => name === phase).map(([, ms]) => ms);
  const [asked, replied, ran] = [at("asked"), at("replied"), at("ran")];
  // The first turn loads code, and the last cell ends the ask.
  const each = (from: readonly number[], to: readonly number[]) =>
    to.slice(1, TURNS).map((ms, index) => ms - (from[index + 1] ?? Number.NaN));
  const arrived = (requests ?? []).map(([ms]) => ms);
  const left = (requests ?? []).map(([, ms]) => ms);
  return {
    turns: each(asked, replied),
    asking: each(asked, arrived),
    replying: each(left, replied),
    cells: each(replied, ran),
    journal: await journalOf(session.id),
  };
}

async function journalOf(id: string): Promise<number> {
  await using shared = await shareStore(store);
  const records = (await shared.journal(id)).map(({ record }) => record);
  const ofTurns = records.filter((record) => "ask" in record);
  const ids = new Set(ofTurns.map((record) => Reflect.get(record, "exec_id")));
  const own = records.filter((record) => ids.has(Reflect.get(record, "exec_id")));
  return Buffer.byteLength(JSON.stringify(own)) / (TURNS + 1);
}

/** Children that wait for the model, against the same process before them. */
async function residentOf(session: Session): Promise<number> {
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let most = before;
  const sampling = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 20);
  await run(session, `await Promise.all(Array.from({ length: ${HELD} }, () => ${call("hold")}))`);
  clearInterval(sampling);
  return (most - before) / HELD;
}

function call(question: string): string {
  return `llm_query("${question}", { context: list_docs(), max_sub_calls: 0 })`;
}

async function bytes(): Promise<number> {
  await using sessions = await built.openStore(store);
  const [found] = await sessions.list();
  return found?.bytes ?? Number.NaN;
}

async function run(session: Session, code: string): Promise<void> {
  const envelope = await session.exec(code);
  if (!envelope.success) throw new Error(envelope.traceback);
}

function now(): number {
  return performance.timeOrigin + performance.now();
}

async function timed(work: () => Promise<void>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}
