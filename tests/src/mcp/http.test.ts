import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { addressOf, entrySession } from "../../../src/mcp/index.ts";
import { heldAnswers } from "../../support/held-answers.ts";
import { asked, BEARING, connected, HELLO, served, TOKEN } from "./loopback.ts";
import { ERAS } from "./pair.ts";

test.each(ERAS)("a client of the %s era lists tools, runs cells, is told of progress, and cancels", async (era) => {
  const { of, url, leave, notes } = await served();
  const { client, call } = await connected(url, era);
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain("rlm_exec");
  expect(await call("rlm_load", { path: of.folder })).toMatchObject({ success: true });
  const told: (string | undefined)[] = [];
  const cell = { code: "let n = 1; await llm_query('slow'); for (;;);" };
  const cancelled = new AbortController();
  const running = call("rlm_exec", cell, {
    signal: cancelled.signal,
    onprogress({ message }) {
      told.push(message);
      cancelled.abort();
    },
  });
  await expect(running).rejects.toThrow();
  expect(told[0]).toMatch(/rlm_exec runs|1 (?:done|running)/);
  await expect.poll(() => call("rlm_status")).toMatchObject({ running: null, unfinished: null });
  expect(await call("rlm_exec", { code: "typeof n" })).toMatchObject({ success: true });
  await client.close();
  expect(await leave()).toBe(0);
  expect(notes).toEqual([]);
});

test("each client has a session of its own, and the next one gets that of a client which left", async () => {
  const { of, url } = await served({ goneMs: 1000 });
  const [one, other] = [await connected(url), await connected(url)];
  await one.call("rlm_load", { path: of.folder });
  const { session_id } = await one.call("rlm_status");
  await one.call("rlm_exec", { code: "var mine = 1" });
  expect(await other.call("rlm_status")).toMatchObject({
    session: expect.stringMatching(/~2$/),
    warnings: [expect.stringMatching(/^session_shared: /)],
  });
  await one.client.close();
  const next = await connected(url);
  expect(await next.call("rlm_exec", { code: "mine" })).toMatchObject({ result_json: 1 });
  expect(await next.call("rlm_status")).toMatchObject({ session_id });
  await other.transport.terminateSession();
  await expect(other.call("rlm_status")).rejects.toThrow();
});

test("clients run workflows side by side, and the next one continues that of a client which left", async () => {
  const held = heldAnswers();
  const { url } = await served({ goneMs: 1000 }, { answers: held.answers, tools: "workflow" });
  const [one, other] = [await connected(url), await connected(url)];
  const asking = (prompt: string) => ({
    script: `export const meta = { name: "one", description: "asks" };\nreturn await agent("${prompt}");`,
  });
  void one.call("rlm_workflow", asking("left")).catch(() => {});
  const stays = other.call("rlm_workflow", asking("stays"));
  await expect.poll(() => held.prompts.toSorted()).toEqual(["left", "stays"]);
  await one.transport.terminateSession();
  await held.stopped();
  held.letGo();
  expect(await stays).toMatchObject({ success: true, resumed: 0, result_json: "5" });
  const next = await connected(url);
  const goesOn = next.call("rlm_workflow", asking("left"));
  await held.asked();
  held.letGo();
  expect(await goesOn).toMatchObject({ success: true, resumed: 1, result_json: "4" });
});

const SHARED = { warnings: [expect.stringMatching(/^session_shared: 2 clients use mcp-\w+ \(test 1\.0\.0\)/)] };

test("clients of the newer era that share a session are told, and an address with a name gives each its own", async () => {
  const { url, of } = await served();
  const [one, other] = [await connected(url, "modern"), await connected(url, "modern")];
  await one.call("rlm_load", { path: of.folder });
  expect(await one.call("rlm_exec", { code: "var mine = 1; mine" })).toMatchObject({ result_json: 1, warnings: [] });
  expect(await other.call("rlm_exec", { code: "mine" })).toMatchObject({ result_json: 1, ...SHARED });
  expect(await one.call("rlm_status")).toMatchObject(SHARED);
  for (const era of ERAS) {
    const name = `${era} own`;
    const own = await connected(addressOf(Number(new URL(url).port), name), era);
    await own.call("rlm_load", { path: of.folder });
    expect(await own.call("rlm_exec", { code: "typeof mine" })).toMatchObject({ result_json: "undefined" });
    const status = await own.call("rlm_status");
    expect(status).toMatchObject({ session: name });
    expect(status).not.toHaveProperty("warnings");
  }
  const ofAnother = `mcp-${"0".repeat(12)}`;
  const refused = await connected(`${url}/${ofAnother}`, "modern");
  expect(await refused.call("rlm_status")).toMatchObject({ error_code: "policy_violation" });
  expect(entrySession("claude", of.folder)).toMatch(/^claude-[0-9a-f]{12}$/);
});

test("clients elsewhere name no folders: those of the server count", async () => {
  const { url } = await served();
  const { call } = await connected(url);
  expect(await call("rlm_load", { path: "/etc" })).toMatchObject({ error_code: "path_outside_sandbox" });
});

test.each<[string, Record<string, string>, number]>([
  ["no token", { ...BEARING, Authorization: "" }, 401],
  ["another token", { ...BEARING, Authorization: `Bearer ${TOKEN}x` }, 401],
  ["a token in another form", { ...BEARING, Authorization: TOKEN }, 401],
  ["a name that leads here", { ...BEARING, Host: "evil.example" }, 403],
  ["another port of a name", { ...BEARING, Host: "127.0.0.1:1" }, 403],
  ["a page elsewhere", { ...BEARING, Origin: "https://evil.example" }, 403],
  ["a page without an origin", { ...BEARING, Origin: "null" }, 403],
  ["a client that is not known", { ...BEARING, "Mcp-Session-Id": "x" }, 404],
])("refuses %s", async (_what, headers, status) => {
  const { url } = await served();
  expect(await asked(url, headers, HELLO)).toMatchObject({ status });
  // Not even a method without a body gets through.
  if (status < 404) expect(await asked(url, headers, "", "GET")).toMatchObject({ status });
});

test("a message that is too long is refused, and whatever else comes is answered", async () => {
  const { url, notes } = await served({ bodyBytes: 2000 });
  expect(await asked(url, BEARING, HELLO)).toMatchObject({ status: 200 });
  expect(await asked(url, BEARING, Buffer.alloc(2001, "["))).toMatchObject({ status: 413 });
  expect(await asked(url, BEARING, Buffer.alloc(5_000_000, " "))).toMatchObject({ status: 413 });
  for (const body of ["", "null", "[".repeat(1999), "{", '{"jsonrpc":"2.0","id":1,"method":"tools/list"}']) {
    expect((await asked(url, BEARING, body)).status, body.slice(0, 20)).toBeGreaterThanOrEqual(400);
  }
  const malformed = [
    ['{"jsonrpc":"2.0","id":17,"method":"ping","params":null}', { id: 17 }],
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', { id: 1.5 }],
    ['[{"jsonrpc":"2.0","id":1,"method":"ping"},{"id":2}]', [{ id: 1 }, { id: 2 }]],
    ["garbage", { id: null }],
  ] as const;
  for (const [body, answer] of malformed) {
    const { status, text } = await asked(url, BEARING, body);
    expect([status, JSON.parse(text)], body).toMatchObject([400, answer]);
  }
  expect(await asked(url, BEARING, `\ufeff${HELLO}`)).toMatchObject({ status: 200 });
  for (const path of ["/", "/mcp/", "/mcp/a%2fb", "/mcp/%ff", "/mcp/.x"])
    expect((await asked(url.replace("/mcp", path), BEARING, HELLO)).status, path).toBe(404);
  for (const method of ["GET", "DELETE", "PUT"]) {
    expect((await asked(url, BEARING, "", method)).status, method).toBeGreaterThanOrEqual(400);
  }
  expect(await asked(url, BEARING, HELLO)).toMatchObject({ status: 200 });
  expect(notes).toEqual([]);
});

test("the number of clients has a bound: the one that was not heard of for the longest time is forgotten", async () => {
  const { url } = await served({ clients: 2 });
  const { client } = await connected(url);
  await client.listTools();
  for (let n = 0; n < 100; n++) expect(await asked(url, BEARING, HELLO)).toMatchObject({ status: 200 });
  // This one listens, so it was not forgotten.
  await client.listTools();
  const other = await connected(url);
  await other.client.listTools();
  expect(await asked(url, BEARING, HELLO)).toMatchObject({ status: 503, headers: { "retry-after": "60" } });
  await Promise.all([client.close(), other.client.close()]);
});

test("the number of connections has a bound", async () => {
  const { url } = await served({ connections: 1 });
  const held = connect(Number(new URL(url).port), "127.0.0.1");
  await once(held, "connect");
  await expect(asked(url, BEARING, HELLO)).rejects.toThrow();
  held.destroy();
  await expect.poll(() => asked(url, BEARING, HELLO).catch(() => null)).toMatchObject({ status: 200 });
});

test("300 connections without a token stop neither a client that is known nor a new one", async () => {
  const { url } = await served();
  const { client } = await connected(url);
  const strangers = await Promise.all(
    Array.from({ length: 300 }, async () => {
      const socket = connect(Number(new URL(url).port), "127.0.0.1");
      socket.on("error", () => {});
      await once(socket, "connect");
      socket.write("POST /mcp HTTP/1.1\r\nHost: ");
      return socket;
    }),
  );
  expect(await asked(url, BEARING, HELLO)).toMatchObject({ status: 200 });
  expect((await client.listTools()).tools).not.toEqual([]);
  await expect.poll(() => strangers.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(64);
  for (const socket of strangers) socket.destroy();
});

test("a client that asks nothing is forgotten after a while", async () => {
  const { url } = await served({ idleMs: 2000 });
  const { headers } = await asked(url, BEARING, HELLO);
  const of = { ...BEARING, "Mcp-Session-Id": headers["mcp-session-id"] };
  const list = '{"jsonrpc":"2.0","id":2,"method":"tools/list"}';
  expect(await asked(url, of, list)).toMatchObject({ status: 200 });
  await expect
    .poll(async () => {
      await new Promise((resolve) => setTimeout(resolve, 250));
      return (await asked(url, of, list)).status;
    })
    .toBe(404);
});
