import { execFile } from "node:child_process";
import { EventEmitter } from "node:events";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { type Channel, type Listener, openCaller, serveCaller } from "../../runtime/caller.ts";
import { RlmError } from "../../runtime/errors.ts";

/** Two ends of a way. Messages are copied, and arrive later. */
function channels() {
  const wire = new EventEmitter();
  const holds: boolean[] = [];
  const gone = (why: Error) => void wire.emit("gone", why);
  const end = <Heard>(own: string, other: string): Channel<Heard> => ({
    send: (message) => void setImmediate(() => wire.emit(other, structuredClone(message))),
    hold: (on) => void holds.push(on),
    listen(listener: Listener<Heard>) {
      wire.on(own, listener.heard);
      wire.on("gone", listener.gone);
    },
  });
  return { near: end<never>("near", "far"), far: end<never>("far", "near"), holds, gone, wire };
}

test("answers find their requests in whatever order they come, and the process is held until the last", async () => {
  const { near, far, holds } = channels();
  const turns = new Map<string, () => void>();
  serveCaller<string, string>(far, {
    answer: (name) => new Promise((resolve) => turns.set(name, () => resolve(name.toUpperCase()))),
  });
  const { ask } = openCaller<string, string>(near);
  const answers = [ask("a"), ask("b")];
  await expect.poll(() => turns.size).toBe(2);
  turns.get("b")?.();
  turns.get("a")?.();
  expect(await Promise.all(answers)).toEqual(["A", "B"]);
  expect(holds).toEqual([true, false]);
});

test("an RlmError crosses with its code and cure, and any other error with its message", async () => {
  const { near, far } = channels();
  serveCaller<Error, never>(far, {
    answer(error) {
      throw error.message === "known" ? new RlmError("run_not_found", "no run", { suggestion: "List them." }) : error;
    },
  });
  const { ask } = openCaller<Error, never>(near);
  const known = ask(new Error("known"));
  await expect(known).rejects.toBeInstanceOf(RlmError);
  await expect(known).rejects.toMatchObject({ code: "run_not_found", message: "no run", suggestion: "List them." });
  const other = ask(new TypeError("no function"));
  await expect(other).rejects.not.toBeInstanceOf(RlmError);
  await expect(other).rejects.toThrow("no function");
});

test("notes go both ways beside requests", async () => {
  const { near, far } = channels();
  const heard: unknown[] = [];
  const tell = serveCaller<string, string, string, string>(far, {
    answer(request) {
      tell("half");
      return request;
    },
    heard: (note) => void heard.push(note),
  });
  const caller = openCaller<string, string, string, string>(near, (note) => void heard.push(note));
  caller.tell("stop");
  expect(await caller.ask("all")).toBe("all");
  expect(heard).toEqual(["stop", "half"]);
});

test("if the other side ends, every request fails with the reason, and later ones at once", async () => {
  const { near, gone, wire } = channels();
  const { ask } = openCaller<string, string>(near);
  const lost = [ask("a"), ask("b")];
  gone(new Error("it ended"));
  gone(new Error("and again"));
  for (const one of [...lost, ask("c")]) await expect(one).rejects.toThrow("it ended");
  wire.emit("near", { id: 1, ok: true, value: "late" });
  wire.emit("near", { id: 77, ok: true, value: "asked by nobody" });
});

test("the end of a thread is awaited to the end, though its last answer comes meanwhile", async () => {
  const program = `
    import { Worker } from "node:worker_threads";
    import { openThreadCaller } from ${JSON.stringify(new URL("../../runtime/caller.ts", import.meta.url))};
    const isAnswered = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(\`
      const { parentPort, workerData } = require("node:worker_threads");
      parentPort.on("message", ({ id }) => {
        parentPort.postMessage({ id, ok: true, value: "the answer" });
        Atomics.store(workerData, 0, 1);
        Atomics.notify(workerData, 0);
      });\`, { eval: true, execArgv: [], workerData: isAnswered });
    const caller = openThreadCaller(worker, "the thread ended");
    const answer = caller.ask("a question");
    Atomics.wait(isAnswered, 0, 0);
    await caller.end();
    console.log(await answer);`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  expect(stdout).toBe("the answer\n");
});
