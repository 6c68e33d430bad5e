import { expect, test } from "vitest";
import { RlmError } from "../../../runtime/index.ts";
import { objectId } from "../../../src/context/index.ts";
import type { Store } from "../../../src/store/index.ts";
import { conversationsOf, readTurns, talk } from "../../support/pi/conversation.ts";
import { fakePi } from "./fake-pi.ts";

const user = (content: unknown) => ({ type: "message", message: { role: "user", content } });

test("the tools read a branch that has no P without a store, behind a compaction too", async () => {
  const pi = fakePi();
  pi.branch.push(user("the code word is heron"), { type: "compaction", summary: "small talk" });
  let stores = 0;
  const life = await pi.start({
    store(store) {
      stores += 1;
      return store;
    },
  });
  const found = await life.call("rlm_search", { pattern: "HERON" });
  const id = objectId("the code word is heron");
  expect(found.text).toBe(`1 hit in 1 object for HERON\n${id} history/0001-user\n  17: the code word is heron`);
  // What the search asked and answered is on the branch now, and is not found.
  expect(await life.call("rlm_search", { pattern: "heron" })).toMatchObject({
    text: expect.stringMatching(/^2 hits in 2/),
  });
  const text = `${id} · history/0001-user · characters 17 to 22 of 22\nheron`;
  expect(await life.call("rlm_peek", { id, offset: 17 })).toEqual({ success: true, text });
  expect(await life.call("rlm_stats", {})).toMatchObject({
    ...{ success: true, history: { objects: 8 }, objects: { out: 0 }, epochs: 0, context: null },
    ...{ request: { tokens: 1_200, window: 64_000 }, budget: null, enabled: true },
    calls: { active: 0, depth: 0, max_depth: 2 },
  });
  expect(stores).toBe(0);
});

test("P is searched and read without a session, by a process that has just started too, and no exec is recorded", async () => {
  const pi = fakePi({ "a.txt": "alpha beta alpha\n" });
  const first = await pi.start();
  await first.call("rlm_load", { path: pi.folder });
  await first.leave();
  const second = await pi.start();
  const entries = pi.branch.filter(({ type }) => type === "custom").length;
  const id = objectId("alpha beta alpha\n");
  expect(await second.call("rlm_search", { pattern: "beta", scope: ["a.txt"] })).toMatchObject({
    text: `1 hit in 1 object for beta\n${id} P: a.txt\n  6: alpha beta alpha `,
  });
  expect(await second.call("rlm_peek", { id: id.slice(0, 14), length: 5 })).toMatchObject({
    text: `${id} · P: a.txt · characters 0 to 5 of 17 · next offset 5\nalpha`,
  });
  expect(await second.call("rlm_stats", {})).toMatchObject({ context: { chars: 36 } });
  expect(pi.branch.filter(({ type }) => type === "custom")).toHaveLength(entries);
  expect((await second.lifecycle.opened()).sessions.current()).toBeNull();
});

test("if P cannot be read, history still is, and the answer says why P is missing", async () => {
  const pi = fakePi();
  pi.branch.push(user("the code word is heron"));
  const first = await pi.start();
  await first.call("rlm_load", { path: pi.folder });
  await first.leave();
  const lost = (store: Store): Store => ({
    ...store,
    context: () => Promise.reject(new RlmError("context_lost", "it is damaged", { suggestion: "Load it again." })),
  });
  const second = await pi.start({ store: lost });
  expect(await second.call("rlm_search", { pattern: "heron" })).toMatchObject({
    text: expect.stringMatching(/^1 hit in 1 object for heron · P cannot be searched: context_lost: it is damaged\n/),
  });
  expect(await second.call("rlm_peek", { id: "a.txt" })).toMatchObject({
    error_code: "object_not_found",
    error_message: expect.stringContaining("P cannot be read: context_lost"),
  });
});

test("details of a text answer hold its first line alone, and a failure is an envelope", async () => {
  const pi = fakePi();
  pi.branch.push(user("x".repeat(3_000)));
  const life = await pi.start();
  await life.call("rlm_peek", { id: "history/0001-user" }, "c1");
  await life.call("rlm_peek", { id: "nothing" }, "c2");
  const details = pi.branch.flatMap(({ message }) => {
    const read = JSON.parse(JSON.stringify(message ?? {}));
    return read.role === "toolResult" ? [read.details.envelope] : [];
  });
  expect(details).toMatchObject([
    { success: true, text: expect.stringMatching(/next offset 2000$/) },
    { success: false, error_code: "object_not_found" },
  ]);
});

test("a later call has the documents of earlier messages as they are, and only new messages are read", async () => {
  const self = talk();
  readTurns(self, 3);
  const { at } = conversationsOf(self);
  const before = await at("first").history();
  readTurns(self, 1, 3000, 3);
  const after = await at("second").history();
  expect(after.documents.length).toBe(before.documents.length + 4);
  expect([...before.documents].every((one, n) => one === after.documents.at(n))).toBe(true);
});

test("rlm_stats counts the texts that are in, out and folded, and the epochs; the request is estimated if Pi does not know", async () => {
  const self = talk();
  const entries = readTurns(self, 40).flatMap((next) => next.entries);
  const { sent } = self.request();
  const stats = await conversationsOf(self).at("stats").stats();
  const stubs = sent.filter((message) => JSON.stringify(message).includes("[RLM externalized: ")).length;
  expect(entries.some(({ fold }) => fold !== undefined)).toBe(true);
  // One message stands for all that are folded.
  expect(stats).toMatchObject({
    objects: { in: sent.length - 1 - stubs, out: stubs, folded: self.messages().length - sent.length + 1 },
    epochs: new Set(entries.map(({ epoch }) => epoch)).size,
    request: { tokens: 700, window: 8000 },
  });
});
