import type { Store } from "../../../src/store/index.ts";
import { KEY_VARIABLE, type Kill, type Life, live } from "../../../tests/support/crash/life.ts";
import { keyOf } from "../server.ts";
import { type Family, familyOf, NO_FAMILY } from "./family.ts";
import { type AskedRequest, QUESTION, type TreeServer } from "./tree.ts";

/** What all runs share. */
export interface AskGround {
  readonly server: TreeServer;
  /** Where the command runs, beside the notes. */
  readonly cwd: string;
  /** Store folder, and the store in it as this process sees it. */
  readonly home: string;
  readonly store: Store;
}

/** An ask's way through processes that are killed, up to one that is not. */
export interface AskRun {
  readonly name: string;
  readonly lives: readonly Life[];
  /** What each process left. */
  readonly families: readonly Family[];
  readonly requests: readonly AskedRequest[];
}

export interface AskPlan {
  readonly name: string;
  /** The kill for a process of the run, from 1; null lets it run. */
  kill(life: number): Kill | null;
  /** Whether the same question is asked again, where `resume` would do as well. Once it is answered that is another ask. */
  again(life: number): boolean;
}

/** Processes of one run: an ask that does not come to its end within these never will. */
const MOST_LIVES = 30;

/** Asks, kills the processes as planned, and has others go on, until one ends by itself. */
export async function askRun({ server, store, cwd, home }: AskGround, plan: AskPlan): Promise<AskRun> {
  const { name } = plan;
  const lives: Life[] = [];
  const families: Family[] = [];
  const models = ["--model", "local/root", "--sub-model", "local/sub", "--base-url", server.url];
  const first = ["ask", QUESTION, "-c", "notes", "--session", name, ...models, "--api-key-env", KEY_VARIABLE];
  let args = first;
  for (;;) {
    const count = lives.length + 1;
    const kill = count < MOST_LIVES ? plan.kill(count) : null;
    const life = await live([...args, "--json", "--quiet"], { cwd, home, key: keyOf(name, count), kill });
    lives.push(life);
    const family = (await familyOf(store, name)) ?? NO_FAMILY;
    families.push(family);
    if (!life.interrupted || life.hung) break;
    const again = plan.again(count) && family.open > 0;
    args = family.isBegun && !again ? ["resume", name] : first;
  }
  return { name, lives, families, requests: [...server.requestsOf(name)] };
}
