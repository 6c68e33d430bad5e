import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../../../runtime/index.ts";
import type { HostedOptions } from "../../../../src/session/option-types.ts";
import { openSessionWith } from "../../../../src/session/session.ts";
import type { Answers } from "../../../../src/session/sub-calls/port.ts";
import { FREE } from "../../../../src/session/sub-calls/port.ts";
import { shareStore } from "../../../../src/store/index.ts";

/** A session whose machine is given up as soon as its calls are out, and whose calls are answered by hand. */
async function scene(options: HostedOptions = {}) {
  const store = await shareStore(null);
  const images: string[] = [];
  const watching = {
    ...store,
    image(id: string) {
      images.push(id);
      return store.image(id);
    },
  };
  const asked = new Map<string, PromiseWithResolvers<string>>();
  const answers: Answers = {
    facts: {},
    async answer({ args: [prompt] }, { signal }) {
      const answer = Promise.withResolvers<string>();
      expect(asked.has(String(prompt))).toBe(false);
      asked.set(String(prompt), answer);
      signal.addEventListener("abort", () => answer.resolve("aborted"));
      return { settlement: { ok: true, value: await answer.promise }, record: FREE, cacheKey: null };
    },
    repeatable: () => true,
  };
  const clock = {
    ...systemClock,
    after(ms: number, run: () => void) {
      if (ms !== 500) return systemClock.after(ms, run);
      run();
      return () => {};
    },
  };
  const session = await openSessionWith({ idleMs: 0, ...options }, { store: watching, answers, clock });
  onTestFinished(async () => {
    await session.close();
    await store[Symbol.asyncDispose]();
  });
  return {
    ...{ session, store, images, asked },
    /** Answers a call once the machine is gone. */
    async answer(prompt: string): Promise<void> {
      await vi.waitFor(() => expect(asked.has(prompt)).toBe(true));
      await new Promise((resolve) => setTimeout(resolve, 300));
      asked.get(prompt)?.resolve(prompt.toUpperCase());
    },
  };
}

test("a machine that was given up while its calls were out goes on from its step, and asks for nothing twice", async () => {
  const { session, store, images, answer } = await scene();
  await session.load({ text: "alpha beta", name: "a.txt" });
  const running = session.exec(`
    print("before"); const rnd = Math.random(); memory.put("k", P.slice(0, 5)); const seen = [];
    const [a, b] = await Promise.all([llm_query("a").then((x) => (seen.push(x), x)), llm_query("b")]);
    const c = await llm_query("c"); print("after");
    [a, b, c, seen, memory.get("k"), P.length]`);
  for (const prompt of ["a", "b", "c"]) await answer(prompt);
  expect(await running).toMatchObject({
    result_json: ["A", "B", "C", ["A"], "alpha", 10],
    stdout: "before\nafter\n",
    warnings: [],
  });
  // The load's end; the first step after "a", and again after "b"; the second step after "c".
  const [end, first, again, second] = images;
  expect([again, new Set([end, first, second]).size, images.length]).toEqual([first, 3, 4]);
  const kinds = (await store.journal(session.id)).map(({ record }) => JSON.parse(JSON.stringify(record)).record);
  expect(kinds.filter((kind) => kind === "rlm_tool_result")).toHaveLength(3);
  expect(kinds).not.toContain("rlm_resume");
  expect(await session.exec("[typeof rnd, a]")).toMatchObject({ result_json: ["number", "A"] });
});

test("the end of such an exec is small: it is what has changed since a fresh guest", async () => {
  const { session, store, answer } = await scene();
  const running = session.exec('await llm_query("a")');
  await answer("a");
  await running;
  const { checkpoint_id: id } = (await store.journal(session.id)).map(({ record }) => Object(record)).at(-1);
  const { base, chain } = await store.checkpoint(id);
  expect(base).toMatch(/^baseline:/);
  expect(chain.bytes).toBeLessThan(500_000);
});

test.each(["signal", "suspend"])("an exec whose machine was given up ends by its %s", async (kind) => {
  const { session, asked } = await scene();
  await session.exec("var kept = 1");
  const stop = new AbortController();
  const running = session.exec('kept = 2; await llm_query("a"); kept = 3', { [kind]: stop.signal });
  await vi.waitFor(() => expect(asked.has("a")).toBe(true));
  await new Promise((resolve) => setTimeout(resolve, 300));
  stop.abort();
  expect(await running).toMatchObject({ error_code: "cancelled" });
  if (kind === "suspend") return expect(session.unfinished()).not.toBeNull();
  expect(await session.exec("kept")).toMatchObject({ result_json: 2 });
});

test("a dry run keeps its machine: its checkpoints are thrown away", async () => {
  const { session } = await scene();
  const { envelope } = await session.dryRun('await llm_query("a"); await llm_query("b")');
  expect(envelope).toMatchObject({ success: true });
});
