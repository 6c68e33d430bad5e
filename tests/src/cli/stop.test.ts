import { expect, test } from "vitest";
import { openLeaving, untilStopped } from "../../../src/cli/stop.ts";

test("a process that is ended in its work waits for what must be over, and the next time for nothing", async () => {
  const exits: number[] = [];
  const leaving = openLeaving((code) => exits.push(code));
  const closed = Promise.withResolvers<void>();
  leaving.after(() => closed.promise);
  leaving.after(() => Promise.reject(new Error("a store that cannot be closed")));
  leaving.leave(130);
  expect(exits).toEqual([]);
  leaving.leave(143);
  expect(exits).toEqual([143]);
  closed.resolve();
  await expect.poll(() => exits).toEqual([143, 130]);
});

test("where nothing is to be waited for, it ends at once", () => {
  const exits: number[] = [];
  openLeaving((code) => exits.push(code)).leave(129);
  expect(exits).toEqual([129]);
});

test("a signal suspends, a closed stdout cancels, both abort", async () => {
  const [signalled, closed] = [{}, {}];
  const code = await untilStopped(async (stop) => {
    process.emit("SIGTERM");
    Object.assign(signalled, { suspend: stop.suspend.aborted, cancel: stop.cancel.aborted, any: stop.signal.aborted });
    return 0;
  });
  await untilStopped(async (stop) => {
    stop.close(0);
    Object.assign(closed, { suspend: stop.suspend.aborted, cancel: stop.cancel.aborted, any: stop.signal.aborted });
    return 0;
  });
  expect([code, signalled, closed]).toEqual([
    143,
    { suspend: true, cancel: false, any: true },
    { suspend: false, cancel: true, any: true },
  ]);
});
