import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../runtime/index.ts";
import { openSessionWith } from "../../src/session/session.ts";
import type { Store } from "../../src/store/port.ts";
import { openStore } from "../../src/store/thread/thread.ts";
import { live } from "../support/crash-life.ts";
import { findingsInStore } from "../support/crash-store-check.ts";

// Commands that change the store without running cells, killed at each of their operations on it.

const PREPARED = mkdtempSync(join(tmpdir(), "belay-prepared-"));
const LONG_AGO = Date.UTC(2020, 0, 1);
/** Before a later operation the disk is as it was after the one before: only the first is killed before it begins. */
const sidesOf = (operation: number) => [...(operation === 1 ? (["before"] as const) : []), "during", "after"] as const;

beforeAll(async () => {
  await using store = await openStore(PREPARED);
  for (const session of ["base", "other"]) {
    await using opened = await openSessionWith({ session }, { store, clock: { ...systemClock, now: () => LONG_AGO } });
    await opened.load({ name: "a.txt", text: "the same text" });
    await opened.exec("let kept = P.length; const block = new Uint32Array(200_000).map((_, index) => index * 7919)");
    await opened.exec("kept += 1");
  }
  return () => rmSync(PREPARED, { recursive: true, force: true });
});

const NAMES = ["base", "other", "copy"];

/** Which of NAMES there are; one whose image cannot be read is not. */
async function sessionsIn(store: Store): Promise<string[]> {
  const found: string[] = [];
  for (const name of NAMES) {
    const row = await store.find(name);
    const [newest] = row ? (await store.checkpoints(row.id)).slice(-1) : [];
    if (newest && (await store.image(newest.id)).memory.length > 0) found.push(name);
  }
  return found;
}

async function valueIn(store: Store, session: string): Promise<unknown> {
  await using opened = await openSessionWith({ session }, { store });
  return (await opened.exec("[kept, block[199_999]]")).result_json;
}

/** Which sessions there may be after the command was killed, or has ended. */
const COMMANDS: Readonly<
  Record<string, { args: readonly string[]; killed: readonly string[][]; done: readonly string[] }>
> = {
  fork: {
    args: ["fork", "base", "--name", "copy"],
    killed: [
      ["base", "other"],
      ["base", "other", "copy"],
    ],
    done: ["base", "other", "copy"],
  },
  rm: {
    args: ["rm", "base"],
    killed: [["base", "other"], ["other"]],
    done: ["other"],
  },
  gc: {
    args: ["gc", "--older-than", "1d"],
    killed: [["base", "other"], []],
    done: [],
  },
};

test.each(Object.entries(COMMANDS))(
  "belay %s killed at each of its writes leaves the old or the new state",
  async (_, { args, killed, done }) => {
    let kills = 0;
    for (let operation = 1; ; operation++) {
      for (const side of sidesOf(operation)) {
        const home = mkdtempSync(join(tmpdir(), "belay-command-"));
        onTestFinished(() => rmSync(home, { recursive: true, force: true }));
        cpSync(PREPARED, home, { recursive: true });
        const kill = { how: "operation", operation, side, waitMs: kills % 4 } as const;
        const life = await live(args, { cwd: home, home, key: "none", kill });
        const where = `${args[0]} at ${side} ${operation}: ${life.stderr}`;
        await using store = await openStore(home);
        const sessions = await sessionsIn(store);
        expect(await findingsInStore(home, store), where).toEqual([]);
        if (life.interrupted) {
          kills++;
          expect(killed, where).toContainEqual(sessions);
          continue;
        }
        expect(life.code, where).toBe(0);
        expect(sessions, where).toEqual(done);
        for (const name of sessions) {
          expect(await valueIn(store, name), name).toEqual([14, (199_999 * 7919) % 2 ** 32]);
        }
        expect(kills).toBeGreaterThanOrEqual(sidesOf(1).length);
        return;
      }
    }
  },
  240_000,
);
