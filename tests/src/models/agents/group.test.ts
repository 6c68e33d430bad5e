import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { endMarked, MARK, markedBy } from "../../../../src/models/agents/group.ts";

/** A process with the mark of a start. */
function started(key: string) {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], {
    env: { [MARK]: key },
    stdio: "ignore",
  });
  return { pid: child.pid ?? 0, ended: once(child, "exit") };
}

test("what is left of one start is ended, and no other start of the call", async () => {
  const call = `S${process.pid}/1.1`;
  const [one, other, next] = [started(`${call}/one`), started(`${call}/other`), started(`${call}0/one`)];
  await expect.poll(() => markedBy(call)).toEqual([one.pid, other.pid]);
  endMarked(`${call}/one`, "SIGKILL");
  expect(await one.ended).toEqual([null, "SIGKILL"]);
  expect(markedBy(call)).toEqual([other.pid]);
  endMarked(call, "SIGKILL");
  expect(await other.ended).toEqual([null, "SIGKILL"]);
  expect(markedBy(`${call}0`)).toEqual([next.pid]);
  endMarked(`${call}0`, "SIGKILL");
  await next.ended;
});
