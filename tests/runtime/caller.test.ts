import { EventEmitter } from "node:events";
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
