import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { RlmError } from "../../runtime/index.ts";
import type { Methods } from "../../src/store/methods.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import {
  checkpointOf,
  contextOf,
  META,
  pagesOf,
  plain,
  range,
  recordOf,
  sessionOf,
} from "../../tests/src/store/sample.ts";
import { type Damage, type Damaging, damagesOf, putDamaged } from "./damages.ts";
import { type Tally, tallyOf } from "./tally.ts";

export interface Corruption extends Damaging {
  /** An empty folder. */
  readonly folder: string;
}

/** Damages a store in a folder in many ways, one at a time, and reads it anew each time. */
export function corrupt({ folder, ...damaging }: Corruption): Promise<Tally> {
  const path = join(folder, "belay.db");
  const original = join(folder, "original.db");
  return corruptIn({
    async open() {
      const store = openSqliteStore(folder, { pid: 1, host: "here" });
      return { methods: store.methods, [Symbol.asyncDispose]: () => store.close() };
    },
    async *damages() {
      copyFileSync(path, original);
      for (const damage of damagesOf(original, damaging)) {
        yield { ...damage, put: async () => putDamaged(original, path, damage) };
      }
    },
  });
}

/** A store that can be damaged. */
export interface Damageable {
  open(): Promise<AsyncDisposable & { readonly methods: Methods }>;
  /** Ways of damaging the store as it is now. Each is put in the place of the one before. */
  damages(): AsyncIterable<Pick<Damage, "name" | "kind"> & { put(): Promise<unknown> }>;
}

/** Damages an empty store in many ways, one at a time, and reads it anew each time. */
export async function corruptIn({ open, damages }: Damageable): Promise<Tally> {
  await makeStore(open);
  const expected = await readAll(open);
  if (expected.some(({ kind }) => kind !== "value")) throw new Error("the store cannot be read before it is damaged");
  const counts = { refused: 0, unharmed: 0, wrong: 0, crashed: 0 };
  const done = { flip: 0, cut: 0 };
  const told: string[] = [];
  for await (const { name, kind, put } of damages()) {
    await put();
    const outcome = compare(expected, await readAll(open));
    counts[outcome.kind] += 1;
    done[kind] += 1;
    if (outcome.kind === "wrong" || outcome.kind === "crashed") told.push(`${outcome.kind}: ${name}: ${outcome.what}`);
  }
  return tallyOf(done, counts, told);
}

/** A store with all kinds of rows that a resume reads. */
async function makeStore(open: Damageable["open"]): Promise<void> {
  await using opened = await open();
  const store = opened.methods;
  await store.putContext(
    contextOf("A context in two parts, which zstd makes smaller. ".repeat(40), "The second part."),
  );
  await store.putBaseline("B", META, pagesOf(range(0, 12), 1));
  await store.create(sessionOf("S1", { name: "first" }));
  const long = { text: "An answer that is long enough to be packed. ".repeat(200) };
  await store.commit("S1", {
    checkpoint: checkpointOf("C1", { pages: pagesOf([1, 2, 30], 2), base: "B", chain: { length: 1, bytes: 61_440 } }),
    records: [recordOf("E1", 5), recordOf("E1", 6, long)],
    facts: { status: "running" },
  });
  const end = checkpointOf("C2", { pages: pagesOf([2, 63], 3), base: "C1", parent: "C1", kind: "end", extras: long });
  await store.commit("S1", { checkpoint: end, records: [recordOf("E1", 7)], facts: { status: "idle" } });
  const whole = checkpointOf("C3", { pages: pagesOf(range(0, 8), 4), parent: "C2", kind: "end", exec_id: "E2" });
  await store.commit("S1", {
    checkpoint: whole,
    records: [recordOf("E2", 8)],
    cache: [{ key: "k", value: long, at: 8 }],
  });
  await store.release("S1");
  await store.fork("S1", "C2", sessionOf("S2", { name: "second" }));
}

type Reading =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "refused" | "crashed"; readonly why: string };

/** Each of the things that a resume reads, on its own. */
async function readAll(open: Damageable["open"]): Promise<Reading[]> {
  const readings: Reading[] = [];
  const whole = await attempt(async () => {
    await using store = await open();
    for (const read of readingsOf(store.methods)) readings.push(await attempt(read));
    return "closed";
  });
  return [...readings, whole];
}

function readingsOf(store: Methods): (() => unknown)[] {
  const context = contextOf("A context in two parts, which zstd makes smaller. ".repeat(40), "The second part.");
  const session = async (name: string) => {
    const row = await store.find(name);
    if (!row) throw new RlmError("session_not_found", `no session ${name}`, { suggestion: "None." });
    // What a resume does not read: figures for people.
    const { bytes: _, holder: __, ...rest } = row;
    return rest;
  };
  const answer = async () => (await store.cached("k")) ?? refuse();
  return [
    () => session("first"),
    () => session("second"),
    () => store.journal("S1"),
    () => store.journal("S1", 3),
    () => store.journal("S2"),
    () => store.checkpoints("S1"),
    () => store.checkpoints("S2"),
    ...["C1", "C2", "C3"].map((id) => () => store.checkpoint(id)),
    ...["B", "C1", "C2", "C3"].map((id) => () => store.image(id)),
    async () => plain(await store.context(context.key)),
    answer,
  ];
}

/** A damaged answer is none: the model is asked again. */
function refuse(): never {
  throw new RlmError("store_corrupt", "no answer", { suggestion: "None." });
}

async function attempt(read: () => unknown): Promise<Reading> {
  try {
    return { kind: "value", value: await read() };
  } catch (error) {
    if (error instanceof RlmError) return { kind: "refused", why: `${error.code}: ${error.message}` };
    return { kind: "crashed", why: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

function compare(expected: readonly Reading[], found: readonly Reading[]) {
  const crashed = found.find((one) => one.kind === "crashed");
  if (crashed?.kind === "crashed") return { kind: "crashed" as const, what: crashed.why };
  for (const [index, one] of found.entries()) {
    if (one.kind === "value" && !isDeepStrictEqual(one, expected[index])) {
      return { kind: "wrong" as const, what: `reading ${index} gave ${JSON.stringify(one.value).slice(0, 400)}` };
    }
  }
  const all = found.length === expected.length && found.every(({ kind }) => kind === "value");
  return { kind: all ? ("unharmed" as const) : ("refused" as const), what: "" };
}
