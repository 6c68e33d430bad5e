import { createServer, type ServerResponse } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { openModels } from "../../../../src/model/models.ts";
import { ask } from "../../../support/scripted-model.ts";

const KB = 1024;
const MB = 1024 * KB;

/** A server that sends the same bytes until nobody reads them; `sent` counts them. */
async function endless(status: number, part: string) {
  const served = { sent: 0, isLeft: false };
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { "content-type": status === 200 ? "text/event-stream" : "text/plain" });
    response.on("close", () => {
      served.isLeft = true;
    });
    send(response);
  });
  function send(response: ServerResponse): void {
    while (!response.destroyed) {
      served.sent += part.length;
      if (response.write(part)) continue;
      response.once("drain", () => send(response));
      return;
    }
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  return { served, model: openModels({ model: "local/m", baseUrl: url, env: {} }) };
}

const TEXT = `data: ${JSON.stringify({ id: "r", choices: [{ index: 0, delta: { content: "so on, ".repeat(4000) } }] })}\n\n`;
const COMMENT = `: ${"x".repeat(16 * KB)}\n\n`;

test.each([
  ["text", TEXT],
  ["comments", COMMENT],
])("a stream of %s without an end is cut by name, and its connection ends", async (_what, part) => {
  const { served, model } = await endless(200, part);
  const answer = await ask(model.resolve(null), { maxTokens: 100 });
  expect(answer).toMatchObject({
    ok: false,
    error: {
      code: "provider_error",
      retriable: false,
      message: expect.stringMatching(/the reply has more than \d+ bytes/),
    },
  });
  await expect.poll(() => served.isLeft).toBe(true);
  // Beside what is read, buffers of both sides fill.
  expect(served.sent).toBeLessThan(20 * MB);
});

test("an error without an end is read to 64 KB, and says what it said", async () => {
  const { served, model } = await endless(500, "no places left. ".repeat(KB));
  const answer = await ask(model.resolve(null), {});
  expect(answer).toMatchObject({ ok: false, error: { message: expect.stringContaining("no places left.") } });
  await expect.poll(() => served.isLeft).toBe(true);
  expect(served.sent).toBeLessThan(6 * MB);
});
