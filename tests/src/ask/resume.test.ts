import { expect, onTestFinished, test } from "vitest";
import { loadAsks } from "../../../src/asks.ts";
import { type HostedOptions, openSessionWith } from "../../../src/session/index.ts";
import { openStore } from "../../../src/store/index.ts";
import { type ModelScript, startModelServer } from "../../support/model-server.ts";

process.env.ASK_KEY = "k";
const cell = (code: string) => ({ tools: [{ id: "u", name: "rlm_exec", arguments: { code } }] });

/** A store with an ask that was suspended in its second turn, whose request was out. */
async function interrupted(script: ModelScript) {
  const stop = new AbortController();
  const server = await startModelServer((request) => {
    if (request.index === 0) return cell("print(P.length)");
    if (request.index === 1) stop.abort();
    return typeof script === "function" ? script(request) : (script[request.index - 1] ?? {});
  });
  onTestFinished(() => server.close());
  const store = await openStore(null);
  onTestFinished(() => store[Symbol.asyncDispose]());
  const open = async (options: HostedOptions = {}) => {
    const named = { model: "local/root", baseUrl: server.url, apiKeyEnv: "ASK_KEY", session: "s", store: "-" };
    const session = await openSessionWith({ ...named, ...options }, { store, asks: loadAsks });
    onTestFinished(() => session.close());
    return session;
  };
  const session = await open();
  await session.load({ text: "four", name: "notes" });
  await session.ask("How long?", { suspend: stop.signal });
  await session.close();
  return { server, open };
}

test("a turn that was out is sent again as it was, whatever the budget is now", async () => {
  const { server, open } = await interrupted(() => ({ text: "4" }));
  const session = await open({ budget: { max_tokens: 60_000, max_sub_calls: 7 } });
  expect(await session.resume()).toMatchObject({ kind: "ask", envelope: { answer: "4" } });
  const [, sent, again] = server.requests.map(({ body }) => body.messages);
  expect(again).toEqual(sent);
});

test("an ask whose budget is gone ends, also if a turn was out", async () => {
  const { server, open } = await interrupted(() => ({ text: "4" }));
  const session = await open({ budget: { max_tokens: 10 } });
  expect(await session.resume()).toMatchObject({ envelope: { success: false, error_code: "budget_exceeded" } });
  expect(server.requests).toHaveLength(2);
  expect(session.unfinished()).toBeNull();
  expect(await session.exec("P.length")).toMatchObject({ result_json: 4 });
});

test("an ask that is cancelled when it is resumed is over, with the turn that was out", async () => {
  const { open } = await interrupted(() => ({ text: "4" }));
  const session = await open();
  const resumed = await session.resume({ signal: AbortSignal.abort() });
  expect(resumed).toMatchObject({ envelope: { success: false, error_code: "cancelled" } });
  expect(session.unfinished()).toBeNull();
  expect(await session.exec("P.length")).toMatchObject({ result_json: 4 });
  expect(await session.resume()).toMatchObject({ kind: "cell" });
});
