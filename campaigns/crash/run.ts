import { openSessionWith } from "../../src/session/session.ts";
import type { Store } from "../../src/store/port.ts";
import { KEY_VARIABLE, type Kill, type Life, live } from "../../tests/support/crash/life.ts";
import { type Journaled, journaled } from "./journal.ts";
import type { CrashProgram } from "./programs.ts";
import { type CrashRequest, type CrashServer, keyOf } from "./server.ts";

/** What all runs share. */
export interface Ground {
  readonly server: CrashServer;
  /** Where the programs run, beside their contexts. */
  readonly cwd: string;
  /** Store folder, and the store in it as this process sees it. */
  readonly home: string;
  readonly store: Store;
}

/** A session's way through processes that are killed, up to one that is not. */
export interface CrashRun {
  readonly program: CrashProgram;
  /** Name of the session. */
  readonly name: string;
  /** The processes in their order, and what each was asked. */
  readonly lives: readonly Life[];
  readonly asked: readonly (readonly string[])[];
  /** The journal as each process left it; null where there was no session yet. */
  readonly journals: readonly (Journaled | null)[];
  readonly requests: readonly CrashRequest[];
  /** What the session says of itself in the end. */
  readonly facts: string;
  /** What a later cell finds; null where none looked. */
  readonly left: string | null;
}

/** How the runs of one campaign differ. */
export interface RunPlan {
  readonly name: string;
  /** Whether the session is kept in the store. */
  readonly kept: boolean;
  /** The kill for a process of the run, from 1; null lets it run. */
  kill(life: number): Kill | null;
  /** Whether an interrupted cell is asked for again, where `resume` would do as well. */
  again(life: number): boolean;
  /** Whether a further cell looks at what is left. */
  readonly probed: boolean;
}

/** Processes of one run: a session that does not come to its end within these never will. */
const MOST_LIVES = 30;

/** Runs a program, kills its processes as planned, and has others go on, until one ends by itself. */
export async function crashRun(ground: Ground, program: CrashProgram, plan: RunPlan): Promise<CrashRun> {
  const { server, store, cwd, home } = ground;
  const { name } = plan;
  const lives: Life[] = [];
  const asked: (readonly string[])[] = [];
  const journals: (Journaled | null)[] = [];
  const first = [
    ...[...program.args, "--json", "--quiet", ...(plan.kept ? ["--session", name] : ["--no-store"])],
    ...["--model", "local/scripted", "--base-url", server.url, "--api-key-env", KEY_VARIABLE],
  ];
  let args = first;
  for (;;) {
    const count = lives.length + 1;
    const kill = count < MOST_LIVES ? plan.kill(count) : null;
    const life = await live(args, { cwd, home, key: keyOf(name, count), kill });
    lives.push(life);
    asked.push(args);
    const journal = await journalOf(store, name);
    journals.push(journal);
    if (!life.interrupted || life.hung) break;
    args = journal !== null && goesOn(journal, program, plan.again(count)) ? ["resume", name, "--json"] : first;
  }
  const row = await store.find(name);
  return {
    program,
    name,
    lives,
    asked,
    journals,
    requests: [...server.requestsOf(name)],
    facts: JSON.stringify(row?.facts ?? null),
    left: plan.probed && row ? await leftIn(store, row.id) : null,
  };
}

/** Every global of the cells, with its value as far as JSON can tell it, and what memory and helpers hold. */
const PROBE = `
  result = Object.keys(globalThis).sort().map((name) => {
    const value = globalThis[name];
    let text = "";
    try { text = JSON.stringify(value, (_, item) => (typeof item === "bigint" ? String(item) : item)) ?? String(value); } catch (error) { text = error.name; }
    return [name, typeof value, text.length, text.slice(0, 200)];
  });
  result_meta = [memory.list().map((key) => memory.get(key)), helpers.list()];`;

async function leftIn(store: Store, id: string): Promise<string> {
  await using session = await openSessionWith({ session: id }, { store });
  if (session.unfinished()) return "an unfinished exec";
  const { result_json, result_meta, ...envelope } = await session.exec(PROBE);
  const { success, warnings } = envelope;
  return JSON.stringify([success, warnings, result_json, result_meta, session.stats()?.context_hash ?? null]);
}

async function journalOf(store: Store, name: string): Promise<Journaled | null> {
  const row = await store.find(name);
  return row && journaled(await store.journal(row.id));
}

/** Whether `resume` can go on; otherwise the first command is given again. */
function goesOn({ begun, open }: Journaled, program: CrashProgram, again: boolean): boolean {
  if (!begun) return false;
  return !(again && open === "cell" && program.parts === 1);
}
