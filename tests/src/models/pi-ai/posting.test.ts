import { streamSimple as earlierStream } from "@mariozechner/pi-ai";
import { type Api, type Context, getModel, type Model as PiModel, streamSimple } from "belay-pi-ai/compat";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Json } from "../../../../runtime/index.ts";
import { type Posting, posting } from "../../../../src/models/pi-ai/batches.ts";
import type { Post, PostedAnswer, PostedRequest } from "../../../../src/models/port.ts";
import { messageOf } from "../../../../src/platform/errors.ts";
import { BATCH_APIS, type BatchApi } from "../../../../src/provider-batches/providers/index.ts";
import { startModelServer } from "../../../support/model-server.ts";
import { answerOf, type Said, TRIED } from "../../../support/provider-answers.ts";

// A row of a batch has to come back as the same message as a live stream would, with every copy of pi-ai.

const TOOL = {
  name: "grep",
  description: "Searches.",
  parameters: { type: "object", properties: { p: { type: "string" } } },
};
const CONTEXT: Context = {
  systemPrompt: "Be brief.",
  messages: [{ role: "user", content: "2+2?", timestamp: 0 }],
  tools: [TOOL],
};
const USES = [
  { id: "use_1", name: "grep", arguments: { p: "x", deep: { list: [1, null, "é"] } } },
  { id: "use_2", name: "grep", arguments: {} },
];
const SHAPES: Readonly<Record<string, Said>> = {
  "a text": { text: "four: é 漢" },
  "tool calls": { tools: USES },
  "a cut answer": { text: "fo", cut: true },
  thinking: { thinking: "2+2 is", text: "four" },
  "thinking, text and tool calls": { thinking: "2+2 is", text: "I look", tools: USES },
};

type Stream = typeof streamSimple;
function isStream(value: unknown): value is Stream {
  return typeof value === "function";
}
function ours(stream: unknown): Stream {
  if (isStream(stream)) return stream;
  throw new TypeError("this copy of pi-ai has no streamSimple");
}
const LINES: Readonly<Record<string, Stream>> = { "0.87": streamSimple, "0.73": ours(earlierStream) };

const CASES = Object.keys(LINES).flatMap((line) => BATCH_APIS.map((api) => ({ line, api })));

function modelOf(api: BatchApi, url: string): PiModel<Api> {
  const base = { ...getModel("openai", "gpt-4.1"), compat: {}, id: "m", name: "m", api, reasoning: true };
  const [provider = ""] = TRIED[api].model.split("/");
  return { ...base, baseUrl: url, provider };
}

/** Asks this copy of pi-ai. */
function open(line: string, api: BatchApi, url: string, signal = new AbortController().signal) {
  const stream = LINES[line] ?? streamSimple;
  const reasoning = "low" as const;
  const options = { apiKey: "k", maxRetries: 0, maxTokens: 3000, cacheRetention: "none", reasoning, signal } as const;
  const live = () => stream(modelOf(api, url), CONTEXT, options).result();
  return {
    live,
    async posted(post: Post) {
      const seen = { status: null, retryAfterMs: null, networkError: null };
      const call: Posting = { account: { id: "the account", api, prove: () => "" }, model: "x/m", post, signal, seen };
      return { message: await posting(call, live), failed: call.failure, seen };
    },
  };
}

/** Everything but the time. */
function whole(message: object): unknown {
  const { timestamp, duration, durationMs, ttft, ttftMs, ...rest }: { [key: string]: unknown } = JSON.parse(
    JSON.stringify(message),
  );
  return rest;
}

async function serve(answer: { status?: number; body: string }) {
  const server = await startModelServer(() => answer);
  onTestFinished(() => server.close());
  return server;
}

/** A post that keeps what it gets, and answers so. */
function keeping(answer: PostedAnswer) {
  const kept: PostedRequest[] = [];
  const post: Post = async (request) => {
    kept.push(request);
    return answer;
  };
  return { kept, post };
}

describe.each(CASES)("pi-ai $line, $api", ({ line, api }) => {
  test.each(Object.entries(SHAPES))("%s of a row is that of a live stream", async (_name, said) => {
    const answer = answerOf[api](said);
    const server = await serve({ body: answer.stream });
    const { live, posted } = open(line, api, server.url);
    const streamed = await live();
    const { kept, post } = keeping({ status: 200, body: answer.row });
    const { message, failed, seen } = await posted(post);
    expect(whole(message)).toEqual(whole(streamed));
    expect(message.stopReason).not.toBe("error");
    expect(failed).toBeUndefined();
    expect(seen.status).toBe(200);
    expect(server.requests).toHaveLength(1);
    expect(kept).toMatchObject([{ account: { id: "the account" }, model: "x/m" }]);
  });

  test("the body is the one that is sent, without what only streams have", async () => {
    const server = await serve({ body: answerOf[api]({ text: "x" }).stream });
    const { live, posted } = open(line, api, server.url);
    await live();
    const { kept, post } = keeping({ status: 200, body: answerOf[api]({ text: "x" }).row });
    await posted(post);
    const sent: { [key: string]: Json } = JSON.parse(server.requests[0]?.sent ?? "");
    delete sent.stream;
    delete sent.stream_options;
    const plain = JSON.stringify(sent)
      .replaceAll('"eager_input_streaming":true,', "")
      .replaceAll(',"eager_input_streaming":true', "");
    expect(kept[0]?.body).toEqual(JSON.parse(plain));
    expect(JSON.stringify(kept[0]?.body)).not.toContain("stream");
  });

  test("a row with a status of failure fails as a live request does", async () => {
    const body = { error: { message: "slow down", type: "rate", code: 429 } };
    const server = await serve({ status: 429, body: JSON.stringify(body) });
    const { live, posted } = open(line, api, server.url);
    const refused = await live();
    const { post, kept } = keeping({ status: 429, body });
    const { message, failed, seen } = await posted(post);
    expect(message.errorMessage).toContain("slow down");
    expect(whole(message)).toEqual(whole(refused));
    expect(failed).toBeUndefined();
    expect(seen.status).toBe(429);
    expect(kept).toHaveLength(1);
  });

  test("a failure that no server sent is given back as it is", async () => {
    const failure = {
      code: "answer_lost",
      message: "it was paid for",
      suggestion: "Ask again.",
      retriable: false,
    } as const;
    const { post, kept } = keeping({ failure });
    const { message, failed } = await open(line, api, "http://127.0.0.1:9").posted(post);
    expect(failed).toEqual(failure);
    expect(message.stopReason).toBe("error");
    expect(kept).toHaveLength(1);
  });
});

test("requests beside a posted one are sent, and posts do not mix", async () => {
  const api = "openai-completions";
  const server = await serve({ body: answerOf[api]({ text: "live" }).stream });
  const release = Promise.withResolvers<void>();
  const answering = async (text: string) => {
    const { message } = await open("0.87", api, server.url).posted(async (_request, _signal) => {
      await release.promise;
      // The work of a post is no part of the call.
      expect((await fetch(server.url, { method: "POST" })).status).toBe(200);
      return { status: 200, body: answerOf[api]({ text }).row };
    });
    return message.content;
  };
  const posted = [answering("one"), answering("two")];
  expect((await open("0.87", api, server.url).live()).content).toMatchObject([{ text: "live" }]);
  expect((await fetch(server.url, { method: "POST" })).status).toBe(200);
  release.resolve();
  expect(await Promise.all(posted)).toMatchObject([[{ text: "one" }], [{ text: "two" }]]);
  expect(server.requests).toHaveLength(4);
});

test("a call that fetches again is neither sent nor posted twice", async () => {
  const server = await serve({ body: "" });
  const { kept, post } = keeping({ status: 200, body: answerOf["openai-completions"]({ text: "x" }).row });
  const seen = { status: null, retryAfterMs: null, networkError: null };
  const account = { id: "a", api: "openai-completions", prove: () => "" } as const;
  const call: Posting = { account, model: "x/m", post, signal: new AbortController().signal, seen };
  const sent = posting(call, async () => {
    const ask = () => fetch(server.url, { method: "POST", body: "{}" });
    return [(await ask()).status, await ask().catch(messageOf)];
  });
  expect(await sent).toEqual([200, "a request that goes by a batch is posted once"]);
  expect(call.failure).toBeUndefined();
  expect([kept.length, server.requests.length]).toEqual([1, 0]);
});
