import { expect, onTestFinished, test, vi } from "vitest";
import { said } from "../belay.ts";
import { scene } from "./scene.ts";

const HOUR = 3_600_000;

/** A run called `mine` of two jobs that are done and one that has failed; `later` moves the clock. */
async function keptScene(...flags: string[]) {
  const { type } = await scene({ "in.jsonl": '{"id":"a"}\n{"id":"b"}\n{"id":"c"}\n', "fail.js": FAIL });
  await type(["batch", "fail.js", "--jobs", "in.jsonl", "--name", "mine", ...flags]);
  const now = Date.now();
  onTestFinished(() => void vi.useRealTimers());
  return {
    type,
    later: (ms: number) => vi.useFakeTimers({ now: now + ms, toFake: ["Date"] }),
    async sessions(): Promise<number> {
      return JSON.parse((await type(["sessions", "--all", "--json"])).stdout).sessions.length;
    },
  };
}

const FAIL = 'if (job.id === "c") throw new Error("c"); job.id';

test("a job that is done loses its images at once and its journal after 30 days; its result and the others stay", async () => {
  const { type, later, sessions } = await keptScene();
  const results = (await type(["jobs", "out", "mine"])).stdout;
  expect(await type(["fork", "mine/c"])).toMatchObject({ code: 0 });
  const forked = await type(["fork", "mine/a"]);
  expect(forked).toMatchObject(said(1, "its images went when it was done (checkpoint_not_found)"));
  expect(await type(["show", "mine/a"])).toMatchObject({ code: 0, stdout: expect.stringContaining("cell  ok") });
  later(29 * 24 * HOUR);
  await type(["gc"]);
  expect(await type(["show", "mine/a"])).toMatchObject({ code: 0 });
  later(31 * 24 * HOUR);
  await type(["gc"]);
  expect(await sessions()).toBe(1);
  expect(await type(["show", "mine/a"])).toMatchObject(said(1, "its session was dropped"));
  expect((await type(["jobs", "out", "mine"])).stdout).toBe(results);
});

test("--keep says how long journals stay, and --keep-sessions keeps the images", async () => {
  const { type, later, sessions } = await keptScene("--keep", "2h", "--keep-sessions");
  expect(await type(["fork", "mine/a", "--name", "copy"])).toMatchObject({ code: 0 });
  later(HOUR);
  await type(["gc"]);
  expect(await sessions()).toBe(4);
  later(3 * HOUR);
  await type(["gc"]);
  expect(await sessions()).toBe(2);
});
