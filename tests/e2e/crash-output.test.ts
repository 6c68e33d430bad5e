import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { live } from "../support/crash-life.ts";

const WHOLE = "x".repeat(2_000_000);
const ARGS = ["exec", "-e", '"x".repeat(2_000_000)', "-o", "out.txt", "-s", "work"];

/** What is in the folder of the results, after a kill and after a resume. */
const stateOf = (folder: string) => {
  const file = join(folder, "out.txt");
  return existsSync(file) ? readFileSync(file, "utf8") === WHOLE : null;
};

/** Before an operation the store is as it was after the one before. */
const side = "before";

test("a FILE is whole or missing wherever the run is killed, and resume writes it", async () => {
  const seen = new Set<string>();
  for (let operation = 1; ; operation++) {
    const folder = mkdtempSync(join(tmpdir(), "belay-output-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const [home, cwd] = [join(folder, "home"), folder];
    const kill = { how: "operation", operation, side, waitMs: 0 } as const;
    const life = await live(ARGS, { cwd, home, key: "none", kill });
    const where = `${side} ${operation} of ${life.operations.join(", ")}`;
    const killed = stateOf(folder);
    expect(killed, where).not.toBe(false);
    if (!life.interrupted) {
      expect([life.code, killed, life.stdout], where).toEqual([0, true, ""]);
      expect(seen).toEqual(new Set(["missing, resumed", "whole, resumed", "whole, over"]));
      return;
    }
    const resumed = await live(["resume", "work"], { cwd: tmpdir(), home, key: "none", kill: null });
    // Before its start was recorded there is nothing to resume.
    if (resumed.code === 1) continue;
    const isOver = resumed.stderr.includes("nothing is unfinished");
    seen.add(`${killed ? "whole" : "missing"}, ${isOver ? "over" : "resumed"}`);
    expect(stateOf(folder), where).toBe(true);
    expect(readdirSync(folder).sort(), where).toEqual(["home", "out.txt"]);
  }
}, 120_000);
