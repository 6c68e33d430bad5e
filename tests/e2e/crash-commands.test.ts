import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../runtime/index.ts";
import { openSessionWith } from "../../src/session/session.ts";
import type { Store } from "../../src/store/port.ts";
import { openStore } from "../../src/store/thread.ts";
import { live } from "../support/crash-life.ts";
import { findingsInStore } from "../support/crash-store-check.ts";

// Commands that change the store without running cells, killed at each of their operations on it.

const PREPARED = mkdtempSync(join(tmpdir(), "belay-prepared-"));
const LONG_AGO = Date.UTC(2020, 0, 1);
const SIDES = ["before", "during", "after"] as const;

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

/** A cell's value in a session; null where there is no such session. */
async function valueIn(store: Store, session: string): Promise<unknown> {
  if ((await store.find(session)) === null) return null;
  await using opened = await openSessionWith({ session }, { store });
  return (await opened.exec("[kept, block[199_999]]")).result_json;
}

const VALUE = [14, (199_999 * 7919) % 2 ** 32];

/** What `base`, `other` and `copy` may be after the command was killed, or has ended. */
const COMMANDS: Readonly<
  Record<string, { args: readonly string[]; killed: readonly unknown[][]; done: readonly unknown[] }>
> = {
  fork: {
    args: ["fork", "base", "--name", "copy"],
    killed: [
      [VALUE, VALUE, null],
      [VALUE, VALUE, VALUE],
    ],
    done: [VALUE, VALUE, VALUE],
  },
  rm: {
    args: ["rm", "base"],
    killed: [
      [VALUE, VALUE, null],
      [null, VALUE, null],
    ],
    done: [null, VALUE, null],
  },
  gc: {
    args: ["gc", "--older-than", "1d"],
    killed: [
      [VALUE, VALUE, null],
      [null, null, null],
    ],
    done: [null, null, null],
  },
};

test.each(Object.entries(COMMANDS))(
  "belay %s killed at each of its writes leaves the old or the new state",
  async (_, { args, killed, done }) => {
    let kills = 0;
    for (let operation = 1; ; operation++) {
      for (const side of SIDES) {
        const home = mkdtempSync(join(tmpdir(), "belay-command-"));
        onTestFinished(() => rmSync(home, { recursive: true, force: true }));
        cpSync(PREPARED, home, { recursive: true });
        const kill = { how: "operation", operation, side, waitMs: kills % 4 } as const;
        const life = await live(args, { cwd: home, home, key: "none", kill });
        const where = `${args[0]} at ${side} ${operation}: ${life.stderr}`;
        await using store = await openStore(home);
        const values: unknown[] = [];
        for (const name of ["base", "other", "copy"]) values.push(await valueIn(store, name));
        expect(await findingsInStore(home, store), where).toEqual([]);
        if (life.interrupted) {
          kills++;
          expect(killed, where).toContainEqual(values);
          continue;
        }
        expect(life.code, where).toBe(0);
        expect(values, where).toEqual(done);
        expect(kills).toBeGreaterThanOrEqual(SIDES.length);
        return;
      }
    }
  },
  240_000,
);
