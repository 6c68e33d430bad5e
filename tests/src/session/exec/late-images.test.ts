import { expect, onTestFinished, test, vi } from "vitest";
import type { HostedOptions } from "../../../../src/session/option-types.ts";
import { openSessionWith } from "../../../../src/session/session.ts";
import { heldClock } from "../../../support/held-clock.ts";

/** A session in memory. Its images wait until the test lets time pass, and calls of `slow` until it answers them. */
async function scene(options: HostedOptions = {}) {
  const { clock, pass } = heldClock((ms) => ms === 5);
  const kinds: string[] = [];
  const asked: string[] = [];
  const slow = new Map<string, (answer: string) => void>();
  const session = await openSessionWith(
    {
      model: "own/model",
      complete: async ({ messages }) => {
        const prompt = String(messages.at(-1)?.text);
        asked.push(prompt);
        return prompt.startsWith("slow") ? new Promise((resolve) => slow.set(prompt, resolve)) : prompt;
      },
      onCheckpoint: ({ kind }) => void kinds.push(kind),
      ...options,
    },
    { clock },
  );
  onTestFinished(() => session.close());
  return {
    ...{ session, kinds, asked },
    /** Waits until the call is out. */
    isOut: (prompt: string) => vi.waitFor(() => expect(slow.has(prompt)).toBe(true)),
    answer: (prompt: string) => slow.get(prompt)?.(prompt),
    /** Lets the guest wait until its image is kept. */
    async waitLong() {
      const before = kinds.length;
      await vi.waitFor(() => {
        pass();
        expect(kinds.length).toBeGreaterThan(before);
      });
    },
  };
}

test("in memory no image is kept of a guest that gets its answers at once, unless steps are to be kept", async () => {
  const { session, kinds } = await scene();
  const cell = 'const got = []; for (const n of "123") got.push(await llm_query(n)); got';
  expect(await session.exec(cell)).toMatchObject({ result_json: ["1", "2", "3"], warnings: [] });
  expect(kinds).toEqual(["end"]);
  const kept = await scene({ keepSteps: true });
  await kept.session.exec(cell);
  expect(kept.kinds).toEqual(["step", "step", "step", "end"]);
});

test("a guest that waits longer is resumed where it waits", async () => {
  const { session, kinds, asked, isOut, answer, waitLong } = await scene();
  const suspend = new AbortController();
  const running = session.exec('[await llm_query("a"), await llm_query("slow")]', { suspend: suspend.signal });
  await isOut("slow");
  await waitLong();
  expect(kinds).toEqual(["step"]);
  suspend.abort();
  expect(await running).toMatchObject({ error_code: "cancelled" });
  const resumed = session.resume();
  await vi.waitFor(() => expect(asked).toEqual(["a", "slow", "slow"]));
  answer("slow");
  expect((await resumed)?.envelope).toMatchObject({ result_json: ["a", "slow"], replayed_sub_calls: 0 });
});

test("a guest that was suspended before its image was kept runs again with the recorded answers", async () => {
  const { session, kinds, asked, isOut, answer } = await scene();
  const suspend = new AbortController();
  const running = session.exec('[await llm_query("a"), await llm_query("slow")]', { suspend: suspend.signal });
  await isOut("slow");
  suspend.abort();
  expect(await running).toMatchObject({ error_code: "cancelled" });
  expect(kinds).toEqual([]);
  const resumed = session.resume();
  await vi.waitFor(() => expect(asked).toEqual(["a", "slow", "slow"]));
  answer("slow");
  expect((await resumed)?.envelope).toMatchObject({ result_json: ["a", "slow"], replayed_sub_calls: 1 });
});
