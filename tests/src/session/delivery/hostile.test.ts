import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { deliveryScene, withVariables } from "../../../support/delivery.ts";

const CELL = `(await Promise.allSettled(["a", "b"].map((p) => llm_query(p, { tools: [] }))))
  .map((s) => s.value ?? [s.reason.code, s.reason.message])`;
const SECRET = "key-1-secret";

/** A server whose batches are over at once, with these results for its rows. */
async function answering(results: (ids: readonly string[]) => string): Promise<string> {
  let ids: string[] = [];
  const answers: Readonly<Record<string, () => string>> = {
    "POST /v1/files": () => '{"id":"file-1"}',
    "DELETE /v1/files/file-1": () => "{}",
    "POST /v1/batches": () => '{"id":"batch_1"}',
    "GET /v1/batches/batch_1": () =>
      '{"status":"completed","output_file_id":"out","request_counts":{"completed":1e12,"failed":-5}}',
    "GET /v1/files/out/content": () => results(ids),
  };
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request, (piece: Buffer) => piece)).toString();
    const route = `${request.method} ${request.url}`;
    if (route === "POST /v1/files") ids = [...body.matchAll(/"custom_id":"([^"]+)"/g)].map(([, id = ""]) => id);
    response.end(answers[route]?.());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const at = server.address();
  return `http://127.0.0.1:${typeof at === "object" ? at?.port : 0}/v1`;
}

const said = (content: string) => ({
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});
const line = (custom_id: string, body: unknown, status_code = 200) =>
  `${JSON.stringify({ custom_id, response: { status_code, body } })}\n`;
const each = (ids: readonly string[], body: unknown, status?: number) =>
  ids.map((id) => line(id, body, status)).join("");
const batchOf = ([id = ""]: readonly string[]) => id.slice(0, id.lastIndexOf("-"));
const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;

const BOTH = <T>(one: T) => [one, one];
const MISFIT = ["provider_error", "local/m: the row of the batch is not an answer of its API"];
const UNREADABLE = ["provider_error", "local/m: 422 the row of the batch has no answer that can be read"];
const EXPIRED = [
  "timeout",
  "three of the provider's batches had no answer to the request: they expired, or left it out",
];

test.each<readonly [string, (ids: readonly string[]) => string, unknown]>([
  [
    "rows of others, and of numbers that it has not",
    (ids) =>
      [
        `01JOTHER000000000000000000-0`,
        `${batchOf(ids)}-99`,
        `${batchOf(ids)}--1`,
        `${batchOf(ids)}-0.5`,
        `${batchOf(ids)}-`,
        `${batchOf(ids)}-0x1`,
      ]
        .map((id) => line(id, said("evil")))
        .join("") + each(ids, said("right")),
    BOTH("right"),
  ],
  ["rows twice", (ids) => each(ids, said("first")) + each(ids, said("second")), BOTH("first")],
  ["bodies of another form", (ids) => each(ids, { choices: "x" }), BOTH(MISFIT)],
  ["statuses that are none", (ids) => each(ids, said("x"), 0), BOTH(UNREADABLE)],
  [
    "rows that are nested deeper than any stack",
    (ids) => ids.map((id) => `{"custom_id":"${id}","response":{"status_code":200,"body":${deep}}}\n`).join(""),
    BOTH(UNREADABLE),
  ],
  ["no rows", () => "", BOTH(EXPIRED)],
  [
    "a row among lines that are none",
    (ids) => `{\n${line(ids[0] ?? "", said("right"))}[]\n`,
    ["right", ["answer_lost", expect.stringContaining("got rows that are not of their form")]],
  ],
  [
    "a row that is larger than any answer",
    ([first = "", second = ""]) => line(first, said("z".repeat(17_000_000))) + line(second, said("right")),
    [["answer_lost", expect.stringContaining("got rows that are too large")], "right"],
  ],
  [
    "a key in an error",
    (ids) => each(ids, { error: { message: `bad key ${SECRET}` } }, 401),
    BOTH(["auth_failed", "local/m: 401 bad key [key]"]),
  ],
  [
    "answers without a bound",
    (ids) => each(ids, said("y".repeat(1_000_000))),
    BOTH(["truncated_answer", "the answer is too long: 1000000 characters, the limit is 200000"]),
  ],
])("a provider that answers %s does no harm", async (_what, results, expected) => {
  const { open, rows } = await deliveryScene();
  withVariables({ OPENAI_API_KEY: SECRET });
  const session = await open({ baseUrl: await answering(results) });
  expect(await session.exec(CELL)).toMatchObject({ success: true, result_json: expected });
  expect(rows("SELECT state FROM batch_requests")).toEqual([]);
  expect(JSON.stringify(rows("SELECT * FROM provider_batches"))).not.toContain(SECRET);
});
