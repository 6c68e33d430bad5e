import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../runtime/clock.ts";
import { imageFormat } from "../../runtime/image-compat.ts";
import { TERMINATE_MS } from "../../runtime/limits.ts";
import { startMachineThread } from "../../runtime/machine-thread.ts";
import { SHARED } from "../../runtime/protocol.ts";
import { quickJsBuild } from "../../runtime/quickjs-wasi.ts";
import { openThread } from "../../runtime/thread.ts";
import { TIMED_OUT } from "../../runtime/watchdog.ts";

/** Answers what it is sent, long after the guest should have stopped; `capturing`: since it captures an image. */
const SLOW = `
  import { parentPort, workerData } from "node:worker_threads";
  parentPort.on("message", (message) => {
    if (message.capturing) Atomics.store(workerData.shared, ${SHARED.capturing}, 1);
    setTimeout(() => parentPort.postMessage({ kind: "entered", value: null }), ${2 * TERMINATE_MS});
  });
  parentPort.postMessage({ kind: "up", baseline: null });
`;

test("capturing an image counts neither against the limit nor against being cancelled", async () => {
  const module = new URL(`data:text/javascript,${encodeURIComponent(SLOW)}`);
  const { module: wasm } = await quickJsBuild();
  const setup = { wasm, format: await imageFormat(), library: null, makesBaseline: false };
  const started = await startMachineThread(module, setup);
  const seat = { thread: started.thread, leave: async () => {} };
  const thread = openThread({ seat, clock: systemClock, notice: undefined });
  onTestFinished(() => thread.end("the test is over"));
  const ask = (capturing: boolean) => thread.ask(Object.assign({ kind: "stop" } as const, { capturing }), 0);
  thread.cancel(true);
  expect(await ask(true)).toMatchObject({ kind: "entered" });
  thread.cancel(false);
  expect(await ask(true)).toMatchObject({ kind: "entered" });
  expect(await ask(false)).toEqual({ kind: "failed", message: TIMED_OUT });
});
