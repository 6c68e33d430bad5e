import { expect, test } from "vitest";
import { boundedLines, LINE_BYTES } from "../../../src/mcp/bounded-lines.ts";

/** What comes out of pieces, and what the client is answered. */
function read(pieces: Iterable<string>) {
  const answers: { id: unknown; error: { code: number; message: string } }[] = [];
  const lines = boundedLines((line) => void answers.push(JSON.parse(line)));
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

test("lines are handed on as they are, however they are cut into pieces", async () => {
  const { answers, text } = read(['{"id":1}\n{"i', 'd":2}', "\n\n", '{"id":3}\n']);
  await settled();
  expect(text()).toBe('{"id":1}\n{"id":2}\n\n{"id":3}\n');
  expect(answers).toEqual([]);
});

test.each([
  ["at its end", '{"jsonrpc":"2.0","method":"m","params":{"id":9,"code":"', '\\""},"id":7}', 7],
  ["at its start", '{"id":"é\\"7","method":"m","params":["', '"]}', 'é"7'],
])("a request of 25 MB with its id %s is answered with an error, the next is read", async (_what, head, end, id) => {
  const { answers, text, bytes } = read(message(`${head}`, `${end}\n{"id":8}\n`, 25));
  await settled();
  expect(answers).toMatchObject([{ jsonrpc: "2.0", id, error: { code: -32_600 } }]);
  expect(answers[0]?.error.message).toContain(`${LINE_BYTES} bytes`);
  expect(text()).toMatch(/\0\n\{"id":8\}\n$/);
  expect(bytes()).toBeLessThan(LINE_BYTES + 1_000);
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
