import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { systemClock } from "../../runtime/index.ts";
import { openSessionWith } from "../../src/session/session.ts";
import { openStore, type Store } from "../../src/store/index.ts";
import { belayHere } from "../src/cli/in-process.ts";
import { type Life, live } from "../support/crash/life.ts";
import type { CrashPoint } from "../support/crash/point.ts";
import { findingsInStore } from "../support/crash/store-check.ts";
import { folderWith } from "../support/tree.ts";

// Commands that are killed at their operations on the store.

const PREPARED = mkdtempSync(join(tmpdir(), "belay-prepared-"));
const LONG_AGO = Date.UTC(2020, 0, 1);

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

type Side = CrashPoint["side"];

/** The lives of a command: it is killed at each operation, on these sides, each time in another folder; the last life is whole. */
async function* livesOf(
  args: readonly string[],
  sidesOf: (operation: number) => readonly Side[],
  prepare: (folder: string) => void = () => {},
) {
  for (let operation = 1, kills = 0; ; operation++) {
    for (const side of sidesOf(operation)) {
      const folder = folderWith();
      prepare(folder);
      const kill = { how: "operation", operation, side, waitMs: kills++ % 4 } as const;
      const life: Life = await live(args, { cwd: folder, home: join(folder, "home"), key: "none", kill });
      yield { folder, life, where: `${args[0]} at ${side} ${operation} of ${life.operations}: ${life.stderr}` };
      if (!life.interrupted) return;
    }
  }
}

/** Before a later operation the disk is as it was after the one before: only the first is killed before it begins. */
const EVERY_SIDE = (operation: number): readonly Side[] =>
  operation === 1 ? ["before", "during", "after"] : ["during", "after"];

async function valueIn(store: Store, session: string): Promise<unknown> {
  await using opened = await openSessionWith({ session }, { store });
  return (await opened.exec("[kept, block[199_999]]")).result_json;
}

/** Which of the sessions there are; one whose image cannot be read is not. */
async function sessionsIn(store: Store): Promise<string> {
  const found: string[] = [];
  for (const name of ["base", "other", "copy"]) {
    const row = await store.find(name);
    const [newest] = row ? (await store.checkpoints(row.id)).slice(-1) : [];
    if (newest && (await store.image(newest.id)).memory.length > 0) found.push(name);
  }
  return found.join(" ");
}

/** By line: the sessions that there are once it has ended. A line that is killed leaves these, or those before it. */
const DONE = { "fork base --name copy": "base other copy", "rm base": "other", "gc --older-than 1d": "" };

test.each(Object.entries(DONE))(
  "belay %s killed at each write leaves the old or the new state",
  async (line, done) => {
    let kills = 0;
    const prepare = (folder: string) => cpSync(PREPARED, join(folder, "home"), { recursive: true });
    for await (const { folder, life, where } of livesOf(line.split(" "), EVERY_SIDE, prepare)) {
      const home = join(folder, "home");
      await using store = await openStore(home);
      const sessions = await sessionsIn(store);
      expect(await findingsInStore(home, store), where).toEqual([]);
      if (life.interrupted) {
        kills++;
        expect(["base other", done], where).toContain(sessions);
        continue;
      }
      expect([life.code, sessions], where).toEqual([0, done]);
      for (const name of done.split(" ").filter((name) => name !== "")) {
        expect(await valueIn(store, name), name).toEqual([14, (199_999 * 7919) % 2 ** 32]);
      }
    }
    expect(kills).toBeGreaterThanOrEqual(EVERY_SIDE(1).length);
  },
  240_000,
);

test("a FILE is whole or missing wherever the run is killed, and resume writes it", async () => {
  const whole = "x".repeat(500_000);
  const args = ["exec", "-e", '"x".repeat(500_000)', "-o", "out.txt", "-s", "work"];
  const seen = new Set<string>();
  for await (const { folder, life, where } of livesOf(args, () => ["before"])) {
    const out = () => readdirSync(folder).includes("out.txt") && readFileSync(join(folder, "out.txt"), "utf8");
    const killed = out();
    expect([whole, false], where).toContain(killed);
    if (!life.interrupted) {
      expect([life.code, killed !== false, life.stdout], where).toEqual([0, true, ""]);
      break;
    }
    const resumed = await belayHere(["resume", "work"], { cwd: folder, home: join(folder, "home") });
    // Before its start was recorded there is nothing to resume.
    if (resumed.code === 1) continue;
    const isOver = resumed.stderr.includes("nothing is unfinished");
    seen.add(`${killed ? "whole" : "missing"}, ${isOver ? "over" : "resumed"}`);
    expect(out() === whole, where).toBe(true);
    expect(readdirSync(folder).sort(), where).toEqual(["home", "out.txt"]);
  }
  expect(seen).toEqual(new Set(["missing, resumed", "whole, resumed", "whole, over"]));
}, 120_000);
