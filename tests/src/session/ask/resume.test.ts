import { expect, onTestFinished, test } from "vitest";
import { type HostedOptions, openSessionWith, type Session } from "../../../../src/session/index.ts";
import { openStore } from "../../../../src/store/index.ts";
import { type ScriptedAnswer, type SeenRequest, startModelServer } from "../../../support/model-server.ts";

process.env.ASK_KEY = "k";
const cell = (code: string) => ({ tools: [{ id: "u", name: "rlm_exec", arguments: { code } }] });

type Answer = (request: SeenRequest, stop: () => void) => ScriptedAnswer;

/** A store, and a server for its sessions. `stop` suspends the ask that {@link ask} has begun. */
async function served(answer: Answer) {
  const server = await startModelServer((request) => answer(request, () => suspending.abort()));
  onTestFinished(() => server.close());
  const store = await openStore(null);
  onTestFinished(() => store[Symbol.asyncDispose]());
  suspending = new AbortController();
  const open = async (options: HostedOptions = {}) => {
    const named = { model: "local/root", baseUrl: server.url, apiKeyEnv: "ASK_KEY", session: "s", store: "-" };
    const session = await openSessionWith({ ...named, ...options }, { store });
    onTestFinished(() => session.close());
    return session;
  };
  return { server, store, open };
}

let suspending = new AbortController();

/** Asks in a process of its own. */
async function ask(open: () => Promise<Session>) {
  const session = await open();
  await session.load({ text: "four", name: "notes" });
  const envelope = await session.ask("How long?", { suspend: suspending.signal });
  await session.close();
  return envelope;
}

/** An ask that was suspended in its second turn, whose request was out. */
async function interrupted() {
  const scene = await served(({ index }, stop) => {
    if (index === 0) return cell("print(P.length)");
    if (index === 1) stop();
    return { text: "4" };
  });
  await ask(scene.open);
  return scene;
}

test("an ask of a model that is not the opener's sends and records nothing, and stays open for its own user", async () => {
  const { server, store, open } = await interrupted();
  const sent = server.requests.length;
  const foreign = await openSessionWith({ session: "s", store: "-", model: "openai/gpt-4.1" }, { store });
  onTestFinished(() => foreign.close());
  const before = await store.journal(foreign.id);
  const message = "the ask names the model local/root, which is not one of yours. Nothing was sent";
  await expect(foreign.resume()).rejects.toMatchObject({ code: "settings_untrusted", message });
  expect(await store.journal(foreign.id)).toEqual(before);
  expect(server.requests).toHaveLength(sent);
  expect(foreign.unfinished()).toMatchObject({ kind: "ask", input: "How long?" });
  await foreign.close();
  expect(await (await open()).resume()).toMatchObject({ envelope: { answer: "4", resumed: 1 } });
});

test("a turn that was out is sent again as it was, whatever the budget is now and though sub-calls would fail", async () => {
  const { server, open } = await interrupted();
  const session = await open({ budget: { max_tokens: 60_000, max_sub_calls: 7 }, onRestart: "fail" });
  expect(await session.resume()).toMatchObject({ kind: "ask", envelope: { answer: "4" } });
  const [, sent, again] = server.requests.map(({ body }) => body.messages);
  expect(again).toEqual(sent);
});

test("an ask whose budget is gone ends, also if a turn was out", async () => {
  const { server, open } = await interrupted();
  const session = await open({ budget: { max_tokens: 10 } });
  expect(await session.resume()).toMatchObject({ envelope: { success: false, error_code: "budget_exceeded" } });
  expect(server.requests).toHaveLength(2);
  expect(session.unfinished()).toBeNull();
  expect(await session.exec("P.length")).toMatchObject({ result_json: 4 });
});

test("an ask that is cancelled when it is resumed is over, with the turn that was out", async () => {
  const { open } = await interrupted();
  const session = await open();
  const resumed = await session.resume({ signal: AbortSignal.abort() });
  expect(resumed).toMatchObject({ envelope: { success: false, error_code: "cancelled" } });
  expect(session.unfinished()).toBeNull();
  expect(await session.exec("P.length")).toMatchObject({ result_json: 4 });
  expect(await session.resume()).toMatchObject({ kind: "cell" });
});

test("a provider that refuses tools is asked with fenced blocks, also by the process that goes on", async () => {
  const fenced = "Look:\n```js\nprint(P.length)\n```\nOutput: 17";
  const { server, store, open } = await served(({ index, body }, stop) => {
    if (body.tools) return { status: 404, body: '{"error":{"message":"No endpoints found that support tool use."}}' };
    if (index === 2) stop();
    return { text: index < 3 ? fenced : "It is 4." };
  });
  const suspended = await ask(open);
  const cut = "replies_mended: 1 (text behind its cell)";
  expect(suspended).toMatchObject({ success: false, resumable: true, warnings: ["protocol_fence", cut] });
  const session = await open();
  const resumed = await session.resume();
  expect(resumed).toMatchObject({ envelope: { answer: "It is 4.", warnings: ["protocol_fence", cut], turns: 3 } });
  expect(server.requests.map(({ body }) => body.tools !== undefined)).toEqual([true, false, false, false]);
  const [refused, first] = server.requests.map(({ body }) => body.messages);
  expect(first).toEqual(refused);
  expect(server.requests.at(-1)?.sent).not.toContain("17");
  const records = (await store.journal(session.id)).map(({ record }) => record);
  expect(records.filter((record) => JSON.stringify(record).includes("tools_refused"))).toHaveLength(2);
  const [turn] = records.flatMap((record) => (isResult(record) ? [record] : []));
  expect(turn).toMatchObject({ name: "root", success: false, usage: { input: 0, output: 0, cost_usd: 0 } });
});

function isResult(record: unknown): record is { readonly record: "rlm_tool_result" } {
  return typeof record === "object" && record !== null && Reflect.get(record, "record") === "rlm_tool_result";
}
