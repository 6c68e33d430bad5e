import { expect, test } from "vitest";
import type { FromThread, PendingCall } from "../../runtime/protocol.ts";
import type { Thread } from "../../runtime/threads/thread.ts";
import { openSlices } from "../../runtime/threads/thread.ts";
import { newState } from "../support/checkpoints.ts";

const CALL: PendingCall = { id: "x.1", name: "later", args: [] };
const REQUEST = { id: "a", base: null, kind: "step", commands: [] } as const;
const input = { source: "", state: newState(), facts: null };

/** A thread that gives these replies in turn. Once it was ended, every reply says why; it never is gone. */
function threadWith(replies: FromThread[]) {
  const asked: string[] = [];
  const cancelled: boolean[] = [];
  const waits: boolean[] = [];
  let dead: string | undefined;
  const thread: Thread<unknown> = {
    open: () => Promise.reject(new Error("")),
    async ask({ kind }) {
      asked.push(kind);
      const reply = dead === undefined ? replies.shift() : undefined;
      if (reply === undefined) throw new Error(dead ?? "no reply is left");
      return reply;
    },
    cancel: (on) => void cancelled.push(on),
    printed: () => [{ stream: "stdout", text: "so far" }],
    // In a long native it takes its time.
    end(why) {
      dead ??= why;
      return new Promise(() => {});
    },
    async release(why) {
      dead ??= why;
    },
  };
  const slices = openSlices(thread, { waits: (on) => void waits.push(on) });
  return { slices, asked, cancelled, waits, whyDead: () => dead };
}

const waiting = (checkpoint: Extract<FromThread, { kind: "idle" }>["checkpoint"]): FromThread => ({
  ...{ kind: "idle", calls: [CALL], state: { ...newState(), next_call: 2 }, checkpoint },
});

const endedWith = (
  clean: boolean,
  checkpoint: Extract<FromThread, { kind: "ended" }>["checkpoint"] = null,
): FromThread => ({
  ...{ kind: "ended", clean, end: { kind: "cancelled" }, state: newState(), whole: null, asides: [], checkpoint },
});

test("an image that could not be captured ends the machine, and the exec is over", async () => {
  const { slices, whyDead } = threadWith([waiting({ kind: "failed", message: "broken" })]);
  const slice = await slices.start(input, REQUEST);
  expect(slice).toMatchObject({ kind: "over", lost: "broken", end: { kind: "error", code: "machine_lost" } });
  expect(slice.state).toMatchObject({ next_call: 2, output: { stdout: "so far" } });
  expect(whyDead()).toBe("broken");
});

test("an image that was refused is null, and the guest still waits", async () => {
  const { slices, waits, whyDead } = threadWith([waiting({ kind: "refused" })]);
  const slice = await slices.start(input, REQUEST);
  expect(slice).toMatchObject({ kind: "waiting", calls: [CALL], image: null });
  expect({ waits, dead: whyDead() }).toEqual({ waits: [false, true], dead: undefined });
});

test("a guest that did not come to rest is ended, and its variables are lost", async () => {
  const { slices, whyDead } = threadWith([endedWith(false)]);
  expect(await slices.start(input, null)).toMatchObject({ lost: "the guest did not come to rest" });
  expect(whyDead()).toBe("the guest did not come to rest");
});

test("an exec whose end could not be captured has ended all the same, and its machine is gone", async () => {
  const { slices, whyDead } = threadWith([endedWith(true, { kind: "failed", message: "broken" })]);
  const slice = await slices.start(input, REQUEST);
  expect(slice).toMatchObject({ kind: "over", lost: null, end: { kind: "cancelled" } });
  expect(slice).not.toHaveProperty("image");
  expect(whyDead()).toBe("broken");
});

test("an end that was refused has no image, and the guest lives on", async () => {
  const { slices, whyDead } = threadWith([endedWith(true, { kind: "refused" })]);
  expect(await slices.start(input, REQUEST)).not.toHaveProperty("image");
  expect(whyDead()).toBeUndefined();
});

test("signals reach the thread while the exec runs, and no longer", async () => {
  const { slices, cancelled, whyDead } = threadWith([waiting(null), endedWith(true)]);
  const signal = new AbortController();
  const suspend = new AbortController();
  await slices.start(input, null, { signal: signal.signal, suspend: suspend.signal });
  signal.abort();
  await slices.stop();
  suspend.abort();
  expect({ cancelled, dead: whyDead() }).toEqual({ cancelled: [false, true], dead: undefined });
});

test("a suspended exec ends its machine at once, as cancelled", async () => {
  const { slices } = threadWith([waiting(null)]);
  const suspend = new AbortController();
  await slices.start(input, null, { suspend: suspend.signal });
  suspend.abort();
  expect(await slices.settle([], null, null)).toMatchObject({ lost: "suspended", end: { kind: "cancelled" } });
});
