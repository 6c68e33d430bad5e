import { createServer, type ServerResponse } from "node:http";
import { crc32 } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { openModels } from "../../../../src/models/models.ts";
import { loadPiAi } from "../../../../src/models/pi-ai/catalog.ts";
import { piAiModel } from "../../../../src/models/pi-ai/model.ts";
import { AUTHORIZATION, ask } from "../../../support/scripted-model.ts";

const KB = 1024;
const MB = 1024 * KB;

/** A server that sends the same bytes until nobody reads them; `sent` counts them. */
async function endless(status: number, part: string | Buffer) {
  const served = { sent: 0, isLeft: false };
  const server = createServer((request, response) => {
    request.resume();
    if (request.method === "GET") return void response.writeHead(404).end();
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
  return { served, url, model: openModels({ model: "local/m", baseUrl: url, env: {} }) };
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

/** A model of Amazon Bedrock, whose SDK sends with Node's http. */
function bedrock(url: string) {
  const pi = loadPiAi();
  const [listed] = pi.getModels("amazon-bedrock");
  if (!listed) throw new Error("pi-ai lists no model of Bedrock");
  const model = { ...listed, baseUrl: url };
  return piAiModel({ model, price: null, window: null, load: () => pi, authorize: () => AUTHORIZATION });
}

test("a stream of Bedrock without an end is cut by name, and its connection ends", async () => {
  const { served, url } = await endless(200, bedrockEvent("so on, ".repeat(4000)));
  const answer = await ask(bedrock(url), { maxTokens: 100 });
  expect(answer).toMatchObject({
    ok: false,
    error: { code: "provider_error", retriable: false, message: expect.stringMatching(/more than \d+ bytes/) },
  });
  await expect.poll(() => served.isLeft).toBe(true);
  expect(served.sent).toBeLessThan(20 * MB);
});

test("an error of Bedrock without an end is read to 64 KB", async () => {
  const { served, url } = await endless(500, "no places left. ".repeat(KB));
  const answer = await ask(bedrock(url), {});
  expect(answer).toMatchObject({ ok: false, error: { code: "provider_error" } });
  await expect.poll(() => served.isLeft).toBe(true);
  expect(served.sent).toBeLessThan(20 * MB);
});

test("bytes of a stream of Bedrock that are not UTF-8 are told, however its frames are cut", async () => {
  const stop = bedrockFrame("messageStop", Buffer.from('{"stopReason":"end_turn"}'));
  const answerTo = async (body: Buffer, step: number) => {
    const frames = Buffer.concat([bedrockFrame("messageStart", Buffer.from('{"role":"assistant"}')), body, stop]);
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(200, { "content-type": "application/vnd.amazon.eventstream" });
      for (let at = 0; at < frames.length; at += step) response.write(frames.subarray(at, at + step));
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    return ask(bedrock(`http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`), { maxTokens: 100 });
  };
  const delta = JSON.stringify({ contentBlockIndex: 0, delta: { text: "café" } });
  const broken = bedrockFrame("contentBlockDelta", Buffer.from(delta, "latin1"));
  const told = { ok: true, turn: { text: "caf\ufffd", mended: ["bytes that are not UTF-8"] } };
  for (const step of [1000, 7]) expect(await answerTo(broken, step)).toMatchObject(told);
  const whole = await answerTo(bedrockEvent("café"), 7);
  expect(whole).toMatchObject({ ok: true, turn: { text: "café" } });
  expect(whole).not.toHaveProperty("turn.mended");
});

const bedrockEvent = (text: string) =>
  bedrockFrame("contentBlockDelta", Buffer.from(JSON.stringify({ contentBlockIndex: 0, delta: { text } })));

/** An event as AWS frames it: lengths, checksum, headers, body, checksum. */
function bedrockFrame(type: string, body: Buffer): Buffer {
  const headers = Buffer.concat(
    Object.entries({ ":event-type": type, ":content-type": "application/json", ":message-type": "event" }).map(
      ([name, value]) => {
        const length = Buffer.alloc(2);
        length.writeUInt16BE(value.length);
        return Buffer.concat([Buffer.of(name.length), Buffer.from(name), Buffer.of(7), length, Buffer.from(value)]);
      },
    ),
  );
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(16 + headers.length + body.length, 0);
  prelude.writeUInt32BE(headers.length, 4);
  const framed = Buffer.concat([prelude, word(crc32(prelude)), headers, body]);
  return Buffer.concat([framed, word(crc32(framed))]);
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
