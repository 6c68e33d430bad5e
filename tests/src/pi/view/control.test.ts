import { fauxAssistantMessage, fauxToolCall } from "@mariozechner/pi-ai";
import { expect, test } from "vitest";
import type { Compact } from "../../../../src/pi/externalize/asked.ts";
import { type Control, openControl } from "../../../../src/pi/view/control.ts";
import { tools } from "../../../../src/tools/pi-tools.ts";
import { type FakePi, type Life, startedPi, until } from "../fake-pi.ts";

const OURS = tools.map(({ name }) => name);

function controlOf(pi: FakePi, { lifecycle }: Life, active: string[] = []): Control {
  const actions = {
    appendEntry: (customType: string, data: object) => void pi.branch.push({ type: "custom", customType, data }),
    getActiveTools: () => [...active],
    setActiveTools: (names: string[]) => void active.splice(0, active.length, ...names),
  };
  return openControl(lifecycle, actions, { HOME: pi.folder, BELAY_HOME: pi.folder });
}

test("the branch goes to an earlier checkpoint, and on from there; the one that it left can be gone to again", async () => {
  const { pi, life } = await startedPi();
  const control = controlOf(pi, life);
  expect(await control.branch()).toBeNull();
  await life.call("rlm_load", { path: pi.folder });
  await life.call("rlm_exec", { code: "var x = 1" });
  await life.call("rlm_exec", { code: "x = 2" });

  const branch = await control.branch();
  const ids = branch?.session.checkpoints.filter(({ kind }) => kind === "end").map(({ id }) => id) ?? [];
  expect(ids).toHaveLength(3);
  expect(branch?.checkpoint).toBe(ids[2]);
  const [, one = "", two = ""] = ids;
  const session = branch?.session.id ?? "";
  await control.goTo(session, one);
  expect(control.board.current()).toMatchObject({ session, checkpoint: one, checkpoints: 3 });
  expect(await life.call("rlm_exec", { code: "result = x; x = 10" })).toMatchObject({ result_json: 1 });
  expect((await control.branch())?.session.id).not.toBe(session);

  await control.goTo(session, two);
  expect(await life.call("rlm_exec", { code: "result = x" })).toMatchObject({ result_json: 2 });
  expect((await control.sessions()).sessions.map(({ origin }) => origin)).toEqual(["pi", "pi"]);
  await life.leave();
});

test("the branch goes to a checkpoint within an ask: its variables are there, and the ask is over", async () => {
  const { pi, life } = await startedPi();
  const control = controlOf(pi, life);
  await life.call("rlm_load", { path: pi.folder });
  const cell = (code: string) => fauxAssistantMessage(fauxToolCall("rlm_exec", { code }), { stopReason: "toolUse" });
  pi.faux.setResponses([cell("var x = 1; print(x)"), cell("x = 2; answer(x)")]);
  expect(await life.call("rlm_ask", { question: "Which?" })).toMatchObject({ success: true, answer: 2 });
  const branch = await control.branch();
  const [, first = ""] = branch?.session.checkpoints.filter(({ kind }) => kind === "end").map(({ id }) => id) ?? [];
  await control.goTo(branch?.session.id ?? "", first);
  expect(await life.call("rlm_exec", { code: "result = x" })).toMatchObject({ success: true, result_json: 1 });
  await life.leave();
});

test("a checkpoint that is not there is no place to go", async () => {
  const { pi, life } = await startedPi();
  const control = controlOf(pi, life);
  await life.call("rlm_load", { path: pi.folder });
  const session = control.board.current().session ?? "";
  const entries = pi.branch.length;
  await expect(control.goTo(session, "01NOWHERE")).rejects.toMatchObject({ code: "checkpoint_not_found" });
  expect(pi.branch).toHaveLength(entries);
  await life.leave();
});

test("tools of others stay when ours are switched off and on", async () => {
  const { pi, life } = await startedPi();
  const active = ["bash", ...OURS, "read"];
  const control = controlOf(pi, life, active);
  control.setEnabled(false);
  expect(active).toEqual(["bash", "read"]);
  expect(control.board.current().enabled).toBe(false);
  control.setEnabled(true);
  control.setEnabled(true);
  expect(active).toEqual(["bash", "read", ...OURS]);
  expect(control.cancel()).toBe(false);
  await life.leave();
});

test("switched off, nothing more goes out, and what stubs name can still be read", async () => {
  const { pi, life } = await startedPi();
  const active = [...OURS];
  const control = controlOf(pi, life, active);
  const outside = () => pi.branch.flatMap((entry) => (entry.customType === "rlm_externalize" ? [entry.data] : []));
  expect(control.setEnabled(false)).toBe("nothing");
  expect(control.setEnabled(false)).toBe("nothing");
  expect([active, outside()]).toEqual([[], [{ v: 1, off: true }]]);
  control.setEnabled(true);
  expect(outside()).toEqual([
    { v: 1, off: true },
    { v: 1, off: false },
  ]);
  const counts = { window: 64_000, before: 40_000, after: 20_000, objects: 1 };
  const epoch = { v: 1, epoch: 1, cause: "threshold", through: "user:1", min: 200, manifest: 2000, preview: 400 };
  pi.branch.push({ type: "custom", customType: "rlm_externalize", data: { ...epoch, ...counts } });
  expect(control.setEnabled(false)).toBe("raw");
  expect(active).toEqual(["rlm_peek", "rlm_search"]);
  await life.leave();
});

test("off holds for the branch: another process, and another branch, have the tools as their branch says", async () => {
  const { pi, life } = await startedPi();
  const chosen = ["read", "rlm_exec"];
  const control = controlOf(pi, life, chosen);
  control.followBranch();
  expect(chosen).toEqual(["read", "rlm_exec"]);
  control.setEnabled(false);
  const active = ["read", ...OURS];
  const next = controlOf(pi, await pi.start(), active);
  next.followBranch();
  expect([active, next.board.current().enabled]).toEqual([["read"], false]);
  // As /tree does it: the branch ends before /rlm off.
  const [offEntry] = pi.branch.splice(0);
  next.followBranch();
  expect([active, next.board.current().enabled]).toEqual([["read", ...OURS], true]);
  expect(pi.branch).toEqual([]);
  expect(offEntry).toMatchObject({ data: { v: 1, off: true } });
  await life.leave();
});

test("leaving takes every tool away, and waits for none of our calls", async () => {
  const { pi, life } = await startedPi();
  const active = ["read", ...OURS];
  const control = controlOf(pi, life, active);
  const compact: Compact = ({ onError }) => onError(new Error("Nothing to compact (session too small)"));
  expect(await control.leave(compact)).toEqual({ compacted: false, is: "nothing" });
  expect([active, control.board.current().enabled]).toEqual([["read"], false]);
  const running = life.begin("rlm_exec", { code: "1" });
  await until(() => control.board.current().running !== null);
  await expect(control.leave(compact)).rejects.toMatchObject({ code: "exec_unfinished" });
  await running;
  await life.leave();
});
