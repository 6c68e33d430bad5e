import { mkdtempSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ulid } from "ulid";
import type { Store } from "../src/store/index.ts";
import { openStore } from "../src/store/index.ts";
import { checkpointOf, pagesOf, recordOf, sessionOf } from "../tests/src/store/sample.ts";
import { type Cluster, startCluster } from "../tests/support/postgres/cluster.ts";
import { median, takeTurns, timed } from "./measure.ts";
import type { Report } from "./report.ts";
import { size } from "./size.ts";

const STEPS = 100;

/** A step on a server against one in a folder, both on disk when they are kept. */
export async function benchPostgres(): Promise<Report> {
  await using cluster = await clusterOf();
  const folder = mkdtempSync(fileURLToPath(new URL("../.bench-", import.meta.url)));
  try {
    await using server = await openStore(cluster.url);
    await using file = await openStore(folder);
    const [onServer, inFolder] = [await steps(server), await steps(file)];
    const measured = await takeTurns(
      [
        { name: "PostgreSQL on loopback", once: onServer },
        { name: "SQLite in a folder", once: inFolder },
      ],
      { rounds: STEPS, warmups: 10 },
    );
    const [there, here] = measured;
    const ratio = median(there?.samples ?? []) / median(here?.samples ?? []);
    return {
      title: "postgres: a step of a session, committed: an image of 8 changed pages, a call and facts",
      cases: [{ name: "a step", measured }],
      notes: ["fsync is on for both. A commit is one round trip, by the function commit_step."],
      aims: [{ text: "a step takes at most 6 times SQLite's", value: `${ratio.toFixed(2)}x`, met: ratio <= 6 }],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A server of its own; with `--smallest` the one that is named for tests, if there is one. */
async function clusterOf(): Promise<Pick<Cluster, "url" | typeof Symbol.asyncDispose>> {
  const url = size(undefined, process.env.BELAY_TEST_POSTGRES);
  return url === undefined ? startCluster({ settings: ["fsync=on"] }) : { url, async [Symbol.asyncDispose]() {} };
}

/** Commits steps to a session of its own, one after the other; answers how long one took, ms. */
async function steps(store: Store): Promise<() => Promise<number>> {
  const id = ulid();
  await store.create(sessionOf(id));
  let last: string | null = null;
  let at = 0;
  return async () => {
    at += 1;
    const step = {
      records: [recordOf("E1", at, { name: "llm_query" })],
      checkpoint: checkpointOf(ulid(), { parent: last, pages: pagesOf([1, 2, 3, 4, 5, 6, 7, 8], at) }),
      facts: { status: "running", at },
    };
    last = step.checkpoint.id;
    return timed(() => store.commit(id, step));
  };
}
