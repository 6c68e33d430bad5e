import { createServer } from "node:http";
import { getModel } from "belay-pi-ai/compat";
import { expect, onTestFinished, test } from "vitest";
import { loadPiAi } from "../../../../src/models/pi-ai/catalog.ts";
import { piAiModel } from "../../../../src/models/pi-ai/model.ts";
import { ask } from "../../../support/scripted-model.ts";

/** A server whose answers are empty, and how it was asked. */
async function serve() {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.headers.upgrade ?? "http"}`);
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end('data: {"type":"response.completed","response":{"id":"r","status":"completed"}}\n\n');
  });
  server.on("upgrade", (request, socket) => {
    asked.push(`${request.method} ${request.headers.upgrade}`);
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  return { asked, url: `http://127.0.0.1:${port}` };
}

/** A token as a login with ChatGPT has it. */
const TOKEN = ["h", btoa(JSON.stringify({ "https://api.openai.com/auth": { chatgpt_account_id: "a" } })), "s"].join(
  ".",
);

test("a conversation opens no WebSocket, which pi-ai would keep for minutes and the process would wait for", async () => {
  const { asked, url } = await serve();
  const model = piAiModel({
    ...{
      model: { ...getModel("openai-codex", "gpt-6-luna"), baseUrl: url },
      price: null,
      window: null,
      load: loadPiAi,
    },
    authorize: () => ({ key: TOKEN, headers: {}, expires: Number.POSITIVE_INFINITY }),
  });
  expect(await ask(model, { cache: "short", conversation: "ask-1" })).toMatchObject({ ok: false });
  expect(asked).toEqual(["POST http"]);
});

const PROTOCOLS = {
  "openai-completions": (baseUrl: string) => ({ ...getModel("groq", "openai/gpt-oss-120b"), baseUrl }),
  "openai-responses": (baseUrl: string) => ({ ...getModel("openai", "gpt-6-luna"), baseUrl }),
  anthropic: (baseUrl: string) => ({ ...getModel("anthropic", "claude-sonnet-5"), baseUrl }),
  google: (baseUrl: string) => ({ ...getModel("google", "gemini-3.8-flash"), baseUrl }),
};

test.each(Object.entries(PROTOCOLS))("%s takes no key and no prompt to where a redirect leads", async (_, modelAt) => {
  const { asked, url } = await serve();
  const first = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(307, { location: `${url}${request.url}` }).end());
  });
  await new Promise<void>((resolve) => first.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void first.close());
  const { port } = Object(first.address());
  const authorize = () => ({ key: TOKEN, headers: {}, expires: Number.POSITIVE_INFINITY });
  const model = modelAt(`http://127.0.0.1:${port}`);
  const answer = await ask(piAiModel({ model, price: null, window: null, load: loadPiAi, authorize }));
  expect(answer).toMatchObject({
    ok: false,
    charged: true,
    ends: "run",
    error: { message: expect.stringContaining(`redirects to ${url}/`), retriable: false },
  });
  expect(asked).toEqual([]);
});
