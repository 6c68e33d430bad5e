import { expect, test } from "vitest";
import { boundedLines, LINE_BYTES } from "../../../src/mcp/messages.ts";

/** What comes out of pieces, and what the client is answered. */
function read(pieces: Iterable<string | Buffer>) {
  const answers: { id: unknown; error: { code: number; message: string } }[] = [];
  const lines = boundedLines((told, done) => {
    for (const line of told.trimEnd().split("\n")) answers.push(JSON.parse(line));
    done();
  });
  let text = "";
  let most = 0;
  lines.on("data", (chunk: Buffer) => {
    text = chunk.length > 1_000 ? text : text + chunk.toString();
    most += chunk.length;
  });
  for (const piece of pieces) lines.write(piece);
  return { answers, text: () => text, bytes: () => most };
}

/** A message in pieces of 1 MB, with so many of them between its head and its end. */
function* message(head: string, end: string, pieces: number): Iterable<string> {
  yield head;
  for (let at = 0; at < pieces; at++) yield "[{}]\\\\".repeat(150_000);
  yield end;
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

const ping = (id: number) => JSON.stringify({ jsonrpc: "2.0", id, method: "ping" });

test("messages are handed on as they are, however they are cut into pieces, without a byte order mark", async () => {
  const { answers, text } = read([
    `\ufeff${ping(1)}\n{"jsonrpc":"2.0","i`,
    `${ping(2).slice(19)}\r\n`,
    `\n${ping(3)}\n`,
  ]);
  await settled();
  expect(text()).toBe(`${ping(1)}\n${ping(2)}\r\n\n${ping(3)}\n`);
  expect(answers).toEqual([]);
});

const MALFORMED: readonly (readonly [line: unknown, ids: readonly unknown[], problem: string])[] = [
  [{ jsonrpc: "2.0", id: 17, method: "tools/call", params: null }, [17], "params must be an object"],
  [{ jsonrpc: "2.0", id: "a", method: "ping", params: [1] }, ["a"], "params must be an object"],
  [{ jsonrpc: "2.0", id: 1.5, method: "ping" }, [1.5], "id must be a text or an integer"],
  [{ jsonrpc: "2.0", id: 1e20, method: "ping" }, [1e20], "id must be a text or an integer"],
  [{ jsonrpc: "2.0", id: null, method: "ping" }, [null], "id must be a text or an integer"],
  [{ jsonrpc: "2.0", id: { a: 1 }, method: "ping" }, [null], "id must be a text or an integer"],
  [{ id: 3, method: "ping" }, [3], 'jsonrpc must be "2.0"'],
  [{ jsonrpc: "2.0", id: 4 }, [4], "method must be a text"],
  [{ jsonrpc: "2.0", id: 5, method: "ping", more: 1 }, [5], "fields beside"],
  [{ jsonrpc: "2.0", id: 6, method: "ping", params: { _meta: null } }, [6], "_meta"],
  [{ jsonrpc: "2.0", method: "notifications/initialized", params: null }, [null], "params must be an object"],
  [JSON.parse(`[${ping(18)},${ping(19)},{"jsonrpc":"2.0","method":"m"},{"id":20}]`), [18, 19, 20], "by itself"],
  [[{ jsonrpc: "2.0", method: "m" }], [null], "by itself"],
  [[], [null], "has 1 to 100 messages, and this one has 0"],
  [Array.from({ length: 5_000 }, () => 1), [null], "has 1 to 100 messages"],
  ["text", [null], "not a JSON object"],
  [null, [null], "not a JSON object"],
];

test.each(MALFORMED)("%j is answered with an error, and the next is read", async (line, ids, problem) => {
  const { answers, text } = read([`${JSON.stringify(line)}\n${ping(8)}\n`]);
  await settled();
  expect(answers.map(({ id }) => id)).toEqual(ids);
  expect(answers[0]).toMatchObject({ jsonrpc: "2.0", error: { code: -32_600 } });
  expect(answers[0]?.error.message).toContain(problem);
  expect(text()).toBe(`${ping(8)}\n`);
});

test("a line that is not JSON is answered; an answer that is malformed is not", async () => {
  const { answers, text } = read(['garbage\n{"jsonrpc":"2.0","id":1.5,"result":{}}\n']);
  await settled();
  expect(answers).toMatchObject([{ id: null, error: { code: -32_700 } }]);
  expect(text()).toContain("result");
});

test("a message with two properties of one name is answered, since one of them would not count", async () => {
  const args = '"arguments":{"code":"a: \\"b\\"","co\\u0064e":"b"}';
  const { answers, text } = read([`{"jsonrpc":"2.0","id":5,"method":"m","params":{${args}}}\n${ping(8)}\n`]);
  await settled();
  expect(answers).toMatchObject([{ id: 5, error: { message: expect.stringContaining("two properties of one name") } }]);
  expect(text()).toBe(`${ping(8)}\n`);
});

test("a line that is not UTF-8 is answered by its id, and not handed on with other characters", async () => {
  const latin = Buffer.from('{"jsonrpc":"2.0","id":5,"method":"m","params":{"code":"caf\xe9"}}\n', "latin1");
  const { answers, text } = read([latin, `${ping(8)}\n`]);
  await settled();
  expect(answers).toMatchObject([{ id: 5, error: { code: -32_700, message: "the message is not UTF-8, as JSON is" } }]);
  expect(text()).toBe(`${ping(8)}\n`);
});

test.each([
  ["at its end", '{"jsonrpc":"2.0","method":"m","params":{"id":9,"code":"', '\\""},"id":7}', 7],
  ["at its start", '{"id":"é\\"7","method":"m","params":["', '"]}', 'é"7'],
])("a request of 25 MB with its id %s is answered with an error, the next is read", async (_what, head, end, id) => {
  const { answers, text, bytes } = read(message(`${head}`, `${end}\n${ping(8)}\n`, 25));
  await settled();
  expect(answers).toMatchObject([{ jsonrpc: "2.0", id, error: { code: -32_600 } }]);
  expect(answers[0]?.error.message).toContain(`${LINE_BYTES} bytes`);
  expect(text()).toBe(`${ping(8)}\n`);
  expect(bytes()).toBeLessThan(1_000);
});

test.each([
  ["a notification", '{"method":"m","params":["', '"]}', []],
  ["an answer", '{"id":1,"result":["', '"]}', []],
  ["no JSON", "xxx", "", [null]],
])("%s that is too long: what is answered", async (_what, head, end, ids) => {
  const { answers } = read(message(head, `${end}\n`, 12));
  await settled();
  expect(answers.map(({ id }) => id)).toEqual(ids);
});
