import { request } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { serveView, sessionSubject } from "../../../src/view/serve.ts";
import { openScripted, promptOf } from "../../support/scripted-session.ts";

type Serving = Parameters<typeof serveView>[0];

const SOURCE = { script: "let page;", style: "b{}" };
const TRACING = { texts: true, maxBytes: 32 * 2 ** 20, belay: "0.0.0" };

async function serving(script: Parameters<typeof openScripted>[0] = () => "yes", more: Partial<Serving> = {}) {
  const opened = await openScripted(script);
  const { session, store } = opened;
  let time = 0;
  const served = await serveView({
    ...{
      subject: sessionSubject(store, session.id),
      tracing: TRACING,
      source: SOURCE,
      now: () => time,
      idleMs: 60_000,
    },
    wording: ({ message }) => message,
    ...more,
  });
  onTestFinished(async () => {
    served.close();
    await served.ended;
  });
  const { origin, port, hash } = new URL(served.url);
  const token = hash.replace("#token=", "");
  return { ...opened, ...served, origin, port, token, get: getter(Number(port), token, () => (time += 10_000)) };
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

/** Requests with headers that `fetch` would not send. */
function getter(port: number, token: string, pass: () => void) {
  return (path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> =>
    new Promise((resolve, reject) => {
      pass();
      const all = { Authorization: `Bearer ${token}`, ...headers };
      const sent = request({ host: "127.0.0.1", port, path, method, headers: all }, (response) => {
        let body = "";
        response.setEncoding("utf8").on("data", (chunk) => (body += chunk));
        response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, body }));
      });
      sent.on("error", reject);
      sent.end();
    });
}

test("the page has no data, and its address has the token where no server sees it", async () => {
  const { get, url, token, session } = await serving();
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{32}$/);
  const { status, body, headers } = await get("/", { Authorization: "" });
  expect(status).toBe(200);
  expect(body).toContain("<html data-live ");
  for (const secret of [token, session.id]) expect(body + JSON.stringify(headers)).not.toContain(secret);
  expect(headers).toMatchObject({
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": expect.stringMatching(
      /^default-src 'none'; .* connect-src 'self'; frame-ancestors 'none'$/,
    ),
  });
  expect(Object.keys(headers).filter((name) => /cookie|access-control/.test(name))).toEqual([]);
});

test("without the token, and for another Host, Origin or method, there is nothing", async () => {
  const { get, port, token } = await serving();
  const status = async (...asked: Parameters<typeof get>) => (await get(...asked)).status;
  for (const Authorization of ["", "Bearer ", `Bearer ${token}x`, `Basic ${token}`, token]) {
    const { status, body } = await get("/head?of=", { Authorization });
    expect([status, body.includes(token)]).toEqual([401, false]);
  }
  for (const Host of ["evil.example", `evil.example:${port}`, "127.0.0.1", `127.0.0.1:${Number(port) + 1}`]) {
    expect([await status("/", { Host }), await status("/head", { Host })]).toEqual([403, 403]);
  }
  expect(await status("/head", { Host: `localhost:${port}` })).toBe(200);
  for (const Origin of ["null", "http://evil.example", `https://127.0.0.1:${port}`]) {
    expect([await status("/", { Origin }), await status("/head", { Origin })]).toEqual([403, 403]);
  }
  expect(await status("/head", { Origin: `http://127.0.0.1:${port}` })).toBe(200);
  for (const method of ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
    expect(await status("/head", {}, method)).toBe(405);
  for (const path of ["/x0?of=none", "/c0", "/../etc/passwd", "//x", "/head/"]) expect(await status(path)).toBe(404);
});

test("a session is followed: what has not changed is not sent again, and what is replaced stays for who reads it", async () => {
  const { get, session } = await serving((request) => `answer to ${promptOf(request)}`);
  await session.exec("await llm_query('one', { tools: [] })");
  const first = await get("/head?of=");
  const head = JSON.parse(first.body);
  expect(head).toMatchObject({ calls: 1, session: { status: "open" } });
  const { revision } = head;
  expect(await get(`/head?of=${revision}`)).toMatchObject({ status: 304, body: "" });
  const chunk = `/x0?of=${revision}`;
  const { headers } = await get(chunk);
  expect(headers["content-encoding"]).toBe("gzip");
  await session.exec("await llm_query_batch(Array.from({ length: 20 }, (_, at) => 'p' + at), { tools: [] })");
  const next = JSON.parse((await get(`/head?of=${revision}`)).body);
  expect(next.calls).toBe(21);
  expect((await get(chunk)).status).toBe(200);
  await session.exec("1");
  await get("/head?of=");
  expect((await get(chunk)).status).toBe(404);
});

test("a session whose process has gone is unfinished, and its open call is pending", async () => {
  const asked = Promise.withResolvers<void>();
  const { get, session } = await serving(async (_, signal) => {
    asked.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return "too late";
  });
  const suspend = new AbortController();
  const exec = session.exec("await llm_query('wait', { tools: [] })", { suspend: suspend.signal });
  await asked.promise;
  const status = async () => JSON.parse((await get("/head?of=")).body);
  expect(await status()).toMatchObject({ calls: 1, session: { status: "running" }, execs: [{ status: "unfinished" }] });
  suspend.abort();
  await exec;
  await session.close();
  expect(await status()).toMatchObject({ calls: 1, session: { status: "unfinished" } });
});

test("two who ask at once share one look, and a session that is removed meanwhile is named", async () => {
  const { get, session, store } = await serving();
  await session.exec("1");
  const look = vi.spyOn(store, "readable");
  const both = await Promise.all([get("/head?of="), get("/head?of=")]);
  expect(both.map(({ status }) => status)).toEqual([200, 200]);
  expect(look.mock.calls.length).toBe(1);
  await session.close();
  await store.remove(session.id);
  expect(await get("/head?of=")).toMatchObject({ status: 404, body: `session ${session.id} not found` });
});

test("of a run each job has a page of its session, and there is none of a job that it has not", async () => {
  const { session, store } = await openScripted(() => "yes");
  await session.exec("1");
  const job = async (number: number) => (number === 3 ? sessionSubject(store, session.id) : null);
  const { get } = await serving(() => "yes", { subject: { ...sessionSubject(store, session.id), key: "run", job } });
  expect(await get("/job/3/", { Authorization: "" })).toMatchObject({ status: 200 });
  expect((await get("/job/3/head", { Authorization: "" })).status).toBe(401);
  const head = JSON.parse((await get("/job/3/head?of=")).body);
  expect(head.session.id).toBe(session.id);
  expect((await get(`/job/3/x0?of=${head.revision}`)).status).toBe(200);
  for (const path of ["/job/4/head", "/job/-1/head", "/job/3/job/3/head", "/job/3"])
    expect((await get(path)).status).toBe(404);
});

test("nobody is waited for longer than the idle time", async () => {
  const { ended } = await serving(() => "yes", { idleMs: 50 });
  await expect(ended).resolves.toBeUndefined();
});
