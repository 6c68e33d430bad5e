import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { expect, test } from "vitest";
import type { HttpParts } from "../../../src/mcp/index.ts";
import { aborted } from "../../../src/platform/signals.ts";
import type { Answers } from "../../../src/session/sub-calls/port.ts";
import { lengthAnswers } from "../../support/length-answers.ts";
import { asked, BEARING, HELLO, type ServedOptions, served } from "./loopback.ts";
import { project } from "./pair.ts";

// Clients as raw requests: whose connection breaks, and whose server is started again.

const HELLO_NOW = HELLO.replace("2025-06-18", "2025-11-25");

/** Answers that wait until they are released. */
function heldAnswers() {
  const held = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const { answer, ...rest } = lengthAnswers();
  const answers: Answers = {
    ...rest,
    async answer(asked, options) {
      reached.resolve();
      await Promise.race([held.promise, aborted(options.signal)]);
      return answer(asked, options);
    },
  };
  return { answers, reached: reached.promise, release: held.resolve };
}

const callOf = (id: number | string, name: string, args: object) =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } });

/** A client that has shaken hands and loaded the project. */
async function greeted(url: string, hello = HELLO_NOW) {
  const { headers } = await asked(url, BEARING, hello);
  const [{ params }] = [JSON.parse(hello)].flat();
  return {
    ...BEARING,
    "Mcp-Session-Id": String(headers["mcp-session-id"]),
    "Mcp-Protocol-Version": String(params.protocolVersion),
  };
}

type Headers = Awaited<ReturnType<typeof greeted>>;

async function opened(url: string, headers: Headers, body: string, method = "POST"): Promise<IncomingMessage> {
  const sent = request(url, { method, headers: { "Content-Type": "application/json", ...headers } });
  const [response] = await Promise.all([once(sent, "response"), sent.end(body)]);
  return response[0];
}

/** Sends a call, and drops its connection as soon as its stream has an id. Gives the id. */
async function dropped(url: string, headers: Headers, body: string): Promise<string> {
  const response = await opened(url, headers, body);
  const [piece] = await once(response, "data");
  response.destroy();
  return /^id: (\S+)$/m.exec(String(piece))?.[1] ?? "";
}

/** The answers in a stream. */
function answersIn(text: string) {
  const lines = text.split("\n").filter((line) => line.startsWith("data: {"));
  return lines
    .map((line) => JSON.parse(line.slice("data: ".length)))
    .map(({ id, error, result }) => ({ id, error, ...(result ? JSON.parse(result.content[0].text) : {}) }));
}

async function goneOn(url: string, headers: Headers, last: string) {
  const { status, text } = await asked(url, { ...headers, "Last-Event-ID": last }, "", "GET");
  return { status, answers: status === 200 ? answersIn(text) : text };
}

/** Nobody is forgotten between two requests: on a busy computer the usual time, which passes in haste here, is too short. */
const STAYS: HttpParts["bounds"] = { goneMs: 1_200_000 };

const CELL = { code: "let said = await llm_query('four', { tools: [] }); said" };

async function scene(bounds: HttpParts["bounds"] = {}, options: ServedOptions = {}) {
  const held = heldAnswers();
  const server = await served({ ...STAYS, ...bounds }, { answers: held.answers, ...options });
  const headers = await greeted(server.url);
  await asked(server.url, headers, callOf(1, "rlm_load", { path: server.of.folder }));
  return { ...server, ...held, headers };
}

test.each([64, 1])(
  "a client whose connection broke gets what it missed, of %d events that are kept",
  async (events) => {
    const { url, headers, reached, release } = await scene({ events });
    const last = await dropped(url, headers, callOf("seven", "rlm_exec", CELL));
    await reached;
    // While the call runs, and when it is over.
    const running = goneOn(url, headers, last);
    release();
    const answer = { id: "seven", success: true, result_json: "4" };
    expect(await running).toMatchObject({ status: 200, answers: [answer] });
    await asked(url, headers, callOf(8, "rlm_status", {}));
    expect(await goneOn(url, headers, last)).toMatchObject({ status: 200, answers: [answer] });
  },
);

test("each client of an earlier process has its session again, and the answer of its call", async () => {
  const of = project();
  const first = await scene({}, { of });
  const other = await greeted(first.url, `[${HELLO_NOW}]`);
  await asked(first.url, other, callOf(1, "rlm_load", { path: of.folder }));
  const [last, waiting] = [
    await dropped(first.url, first.headers, callOf(2, "rlm_exec", CELL)),
    await dropped(first.url, first.headers, callOf(3, "rlm_exec", CELL)),
  ];
  await first.reached;
  const list = '{"jsonrpc":"2.0","id":4,"method":"tools/list"}';
  const listing = await dropped(first.url, first.headers, list);
  await first.leave();
  const { url } = await served(STAYS, { of });
  // The second one comes first.
  const status = answersIn((await asked(url, other, callOf(5, "rlm_status", {}))).text);
  expect(status).toMatchObject([{ session: expect.stringMatching(/~2$/), context: { document_count: 2 } }]);
  expect(await goneOn(url, first.headers, last)).toMatchObject({
    answers: [{ id: 2, success: true, result_json: "4" }],
  });
  expect(await goneOn(url, first.headers, waiting)).toMatchObject({
    answers: [{ id: 3, success: false, error_code: "cancelled", suggestion: "Call the tool again." }],
  });
  expect(await goneOn(url, first.headers, listing)).toMatchObject({
    answers: [{ id: 4, error: { message: expect.stringContaining("send the request again") } }],
  });
  const said = answersIn((await asked(url, first.headers, callOf(6, "rlm_exec", { code: "said" }))).text);
  expect(said).toMatchObject([{ result_json: "4", warnings: [] }]);
});

test("ids of others, forged ones and those of clients that left are refused", async () => {
  const { url, headers, of, leave, release } = await scene();
  release();
  const last = await dropped(url, headers, callOf(2, "rlm_exec", CELL));
  const other = await greeted(url);
  const keyed = { name: "rlm_status", arguments: {}, _meta: { "belay/idempotencyKey": "k".repeat(1e5) } };
  const long = JSON.stringify({ jsonrpc: "2.0", id: 3, method: "tools/call", params: keyed });
  expect((await dropped(url, headers, long)).length).toBeLessThan(500);
  for (const wrong of [last.replace(/^./, "X"), `${last}x`, last.split(".")[0] ?? "", "x", `${last}.${last}`])
    expect(await goneOn(url, headers, wrong), wrong).toMatchObject({ status: 400 });
  expect(await goneOn(url, other, last)).toMatchObject({ status: 400 });
  expect(await goneOn(`${url}/x`, headers, last)).toMatchObject({ status: 404 });
  expect(await asked(url, other, "", "DELETE")).toMatchObject({ status: 200 });
  expect(await goneOn(url, other, last)).toMatchObject({ status: 404 });
  const forged = { ...headers, "Mcp-Session-Id": headers["Mcp-Session-Id"].replace(/^./, "X") };
  expect(await goneOn(url, forged, last)).toMatchObject({ status: 404 });
  await leave();
  const next = await served(STAYS, { of, token: "another-token-of-sixteen" });
  const bearing = { ...headers, Authorization: "Bearer another-token-of-sixteen" };
  expect(await goneOn(next.url, bearing, last)).toMatchObject({ status: 404 });
});

test("headers come before the first event, and clients that accept anything are served", async () => {
  const { url, of, reached, release } = await scene();
  // This era of the protocol has no event that begins a stream.
  const headers = await greeted(url, HELLO);
  await asked(url, headers, callOf(1, "rlm_load", { path: of.folder }));
  for (const Accept of ["*/*", "text/plain, */*;q=0.1"]) {
    const answer = await asked(url, { ...headers, Accept }, '{"jsonrpc":"2.0","id":2,"method":"tools/list"}');
    expect(answer, Accept).toMatchObject({ status: 200 });
  }
  const response = await opened(url, headers, callOf(3, "rlm_exec", CELL));
  expect(response.statusCode).toBe(200);
  await reached;
  release();
  response.resume();
  await once(response, "end");
});
