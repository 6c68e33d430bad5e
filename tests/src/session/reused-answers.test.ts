import { expect, test } from "vitest";
import { openAsyncSession } from "../../support/async-session.ts";
import { openScripted, promptOf } from "../../support/scripted-session.ts";

const CELL = "var got = []; for (const n of [1, 1, 2, 3, 4]) got.push(await later(n)); got";

/** A session whose calls are answered with what they ask and their number; the cell is cancelled when it asks for `stopsAt`. */
async function scene() {
  const asked: unknown[] = [];
  let stopsAt = 3;
  let stop = new AbortController();
  const { session } = await openAsyncSession({
    async answer({ args: [what] }, signal) {
      asked.push(what);
      if (what === stopsAt) stop.abort();
      const failure = { name: "Error", code: "cancelled", message: "cancelled", suggestion: "" };
      return signal.aborted ? { ok: false, error: failure } : { ok: true, value: `${what}#${asked.length}` };
    },
  });
  return {
    session,
    asked: () => asked.splice(0),
    async cancelledAt(what: number) {
      stopsAt = what;
      stop = new AbortController();
      expect(await session.exec(CELL, { signal: stop.signal })).toMatchObject({ error_code: "cancelled" });
    },
    freely() {
      stopsAt = 0;
      stop = new AbortController();
    },
  };
}

test("the same cell after one that was cancelled takes over its answers, equal calls each their own", async () => {
  const { session, asked, cancelledAt, freely } = await scene();
  await cancelledAt(3);
  expect(asked()).toEqual([1, 1, 2, 3]);
  // Cancelled once more, and earlier than before: nothing of the first is lost.
  await cancelledAt(4);
  expect(asked()).toEqual([3, 4]);
  freely();
  const { budget } = await session.exec(CELL);
  expect(asked()).toEqual([4]);
  expect(await session.exec("got")).toMatchObject({ result_json: ["1#1", "1#2", "2#3", "3#1", "4#1"] });
  // A call that is taken over is not a sub-call once more.
  expect(budget?.remaining_sub_calls).toBe(session.budget().remaining_sub_calls);
  await session.exec(CELL);
  expect(asked()).toEqual([1, 1, 2, 3, 4]);
});

test.each([
  ["another cell in between", async ({ session }: Awaited<ReturnType<typeof scene>>) => session.exec("1")],
  ["a change of the memory in between", async ({ session }) => session.memory.put("k", 1)],
])("%s: all is asked anew", async (_what, between) => {
  const made = await scene();
  await made.cancelledAt(3);
  await between(made);
  made.asked();
  made.freely();
  await made.session.exec(CELL);
  expect(made.asked()).toEqual([1, 1, 2, 3, 4]);
});

test("another model is asked all anew: it may be the reason why the cell is run again", async () => {
  const ask = 'await llm_query("a", []); await llm_query("b", [])';
  const stop = new AbortController();
  const asked: string[] = [];
  let fallback = "test/scripted";
  const opened = await openScripted(
    (request) => {
      asked.push(promptOf(request));
      if (asked.length === 2) stop.abort();
      return "yes";
    },
    {},
    undefined,
    {
      models: {
        get fallback() {
          return fallback;
        },
        resolve: (name) => ({ ...opened.model, id: name ?? fallback }),
        price: () => null,
      },
    },
  );
  expect(await opened.session.exec(ask, { signal: stop.signal })).toMatchObject({ error_code: "cancelled" });
  fallback = "test/other";
  await opened.session.exec(ask);
  expect(asked).toEqual(["a", "b", "a", "b"]);
});
