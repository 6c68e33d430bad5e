import { expect, onTestFinished, test, vi } from "vitest";
import { openSession, type SessionEvent, type SessionOptions } from "../../../../src/index.ts";
import { type Model, type Models, NO_USAGE, openModels } from "../../../../src/models/index.ts";
import { openSessionWith, waitText } from "../../../../src/session/index.ts";
import { openWaits } from "../../../../src/session/sub-calls/patience.ts";
import { startModelServer } from "../../../support/model-server.ts";
import { folderWith } from "../../../support/tree.ts";

/** A server that goes away after so many requests, and can be started again at its address. */
async function leaving(after: number, finish = "stop") {
  const server = await startModelServer(async ({ index, prompt }) => {
    if (index < after) return { text: `answer to ${prompt}`, finish };
    void server.close();
    return { end: "destroyed" };
  });
  onTestFinished(() => server.close());
  const port = Number(new URL(server.url).port);
  return {
    url: server.url,
    async back() {
      const again = await startModelServer(({ prompt }) => ({ text: `answer to ${prompt}` }), ["scripted"], port);
      onTestFinished(() => again.close());
      return again;
    },
  };
}

async function opened(options: SessionOptions) {
  const events: SessionEvent[] = [];
  const onProgress = (event: SessionEvent) => void events.push(event);
  const session = await openSession({ model: "local/m", onProgress, ...options });
  onTestFinished(() => session.close());
  const waits = () => events.flatMap((event) => (event.kind === "waiting" ? [event.wait] : []));
  return { session, waits };
}

const FAN = "await llm_query_batch(['a', 'b', 'c', 'd'], { tools: [], max_concurrent: 2 })";

test("a fan-out over a server that restarts is answered whole, and progress says what is waited for", async () => {
  const { url, back } = await leaving(2);
  const { session, waits } = await opened({ baseUrl: url });
  const running = session.exec(FAN);
  await expect.poll(() => waits().length).toBeGreaterThan(0);
  const again = await back();
  const answers = ["a", "b", "c", "d"].map((prompt) => `answer to ${prompt}`);
  expect(await running).toMatchObject({ success: true, result_json: { results: answers } });
  // Each call is answered once.
  expect(again.requests.map(({ prompt }) => prompt).sort()).toEqual(["c", "d"]);
  const [first] = waits();
  expect(first).toMatchObject({ for: "server", of: new URL(url).origin, most_ms: 60_000 });
  const text = `waiting for ${new URL(url).origin}, which answered before (0 s of 60 s)`;
  expect(waitText(Object(first))).toBe(text);
  await expect.poll(() => waits().at(-1)).toBeNull();
});

test("a session that is opened again waits by its records; when the patience is over, the failure says so", async () => {
  const { url } = await leaving(1, "length");
  const store = folderWith();
  const first = await opened({ baseUrl: url, store, session: "s" });
  // An answer that was cut is one of its server, too.
  expect(await first.session.exec("await llm_query('a', { tools: [] })")).toMatchObject({ success: false });
  await first.session.close();
  // The address differs from that of the records, so this process has met no answer of its server.
  const closed = await startModelServer([]);
  await closed.close();
  const { session, waits } = await opened({ baseUrl: closed.url, store, session: "s", waitForServerMs: 300 });
  const failed = await session.exec("await llm_query('b', { tools: [] })");
  expect(failed).toMatchObject({ success: false, error_code: "provider_error" });
  expect(Object(failed).error_message).toMatch(/\(ECONNREFUSED\); the server answered before, and was waited for 0 s/);
  expect(waits()[0]).toMatchObject({ most_ms: 300 });
});

test("a wait of more than an hour is refused", async () => {
  await expect(openSession({ waitForServerMs: 3_600_001 })).rejects.toMatchObject({ code: "invalid_argument" });
});

test("a local server has more time: 600 s for a call, 1,800 s for an exec", async () => {
  const timesAt = async (baseUrl: string) => {
    const limits: number[] = [];
    const asked = openModels({ model: "any/m", baseUrl, env: {} });
    const complete: Model["complete"] = async ({ timeoutMs }) => {
      limits.push(timeoutMs);
      return { ok: true, usage: NO_USAGE, charged: true, turn: { text: "x", toolUses: [], stop: "end", raw: null } };
    };
    const models: Models = { ...asked, resolve: (name) => ({ ...asked.resolve(name), complete }) };
    const session = await openSessionWith({ baseUrl, model: "any/m" }, { models });
    onTestFinished(() => session.close());
    const whole = session.budget().remaining_time_ms;
    await session.exec("await llm_query('q', { tools: [] })");
    return [whole, Math.round((limits[0] ?? 0) / 10_000) * 10];
  };
  expect(await timesAt("http://127.0.0.1:1/v1")).toEqual([1_800_000, 600]);
  expect(await timesAt("https://a.example/v1")).toEqual([300_000, 120]);
});

test("progress says after a while that a first token is waited for, and a server's absence goes before", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  let at = 0;
  const told: (string | null)[] = [];
  const opened = openWaits({ monotonic: () => at }, (wait) => void told.push(wait && waitText(wait)));
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      at += 1000;
      await vi.advanceTimersByTimeAsync(1000);
    }
  };
  const token = opened({ for: "first_token", of: "local/m", since: at, most_ms: 600_000 });
  await pass(9);
  expect(told).toEqual([]);
  await pass(2);
  expect(told.at(-1)).toBe("waiting for the first token of local/m (11 s of 600 s)");
  const away = opened({ for: "server", of: "http://a", since: at, most_ms: 60_000 });
  await pass(2);
  expect(told.at(-1)).toBe("waiting for http://a, which answered before (2 s of 60 s)");
  away[Symbol.dispose]();
  token[Symbol.dispose]();
  await pass(2);
  expect(told.at(-1)).toBeNull();
});

test("an abort ends the wait, and an ask goes on after it", async () => {
  const cell = (code: string) => ({ tools: [{ id: "t", name: "rlm_exec", arguments: { code } }] });
  const turns = [cell("print(P)"), cell("answer(P.length)")];
  const server = await startModelServer(() => turns.shift() ?? { end: "destroyed" });
  const port = Number(new URL(server.url).port);
  const store = folderWith();
  const { session, waits } = await opened({ baseUrl: server.url, store, session: "s" });
  await session.load({ name: "a.txt", text: "seven..\n" });
  const last = turns.pop();
  const suspend = new AbortController();
  const asking = session.ask("How long?", { suspend: suspend.signal });
  await expect.poll(() => server.requests.length).toBe(2);
  await server.close();
  await expect.poll(() => waits().length).toBeGreaterThan(0);
  suspend.abort();
  expect(await asking).toMatchObject({ success: false, resumable: true });
  await session.close();
  const again = await startModelServer(last ? [last] : [], ["scripted"], port);
  onTestFinished(() => again.close());
  const next = await opened({ baseUrl: server.url, store, session: "s" });
  expect(await next.session.resume()).toMatchObject({ envelope: { success: true, answer: 8 } });
  expect(again.requests).toHaveLength(1);
});
