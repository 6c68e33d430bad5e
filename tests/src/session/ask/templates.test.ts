import { expect, onTestFinished, test } from "vitest";
import { openSessionWith } from "../../../../src/session/index.ts";
import { openStore } from "../../../../src/store/index.ts";
import { type ChatBody, type ScriptedAnswer, startModelServer } from "../../../support/model-server.ts";
import { refusalByTemplate, type TemplateRule } from "../../../support/templates.ts";

process.env.ASK_KEY = "k";

let servers = 0;

/**
 * An ask of a model whose template has these rules.
 * @param stops numbers of requests at which the ask is suspended, and then resumed by another session
 */
async function asked(script: readonly ScriptedAnswer[], rules: readonly TemplateRule[], stops: readonly number[] = []) {
  const taken: ChatBody[] = [];
  const refused: string[] = [];
  let suspending = new AbortController();
  const server = await startModelServer(({ body }) => {
    const refusal = refusalByTemplate(body, rules);
    if (refusal !== null) {
      refused.push(refusal);
      return { status: 400, body: JSON.stringify({ error: { message: `Jinja Exception: ${refusal}` } }) };
    }
    taken.push(body);
    if (stops.includes(taken.length)) suspending.abort();
    // The request that was out at a stop comes again.
    const again = stops.filter((stop) => stop < taken.length).length;
    return script[taken.length - again - 1] ?? { text: "there is nothing more to say" };
  });
  onTestFinished(() => server.close());
  const store = await openStore(null);
  onTestFinished(() => store[Symbol.asyncDispose]());
  // What a process learns of one model is nothing to another.
  const model = `local/root-${++servers}`;
  for (let isFirst = true; ; isFirst = false) {
    const named = { model, baseUrl: server.url, apiKeyEnv: "ASK_KEY", session: "s", store: "-" };
    const session = await openSessionWith(named, { store });
    onTestFinished(() => session.close());
    if (isFirst) await session.load({ text: "four", name: "notes" });
    const signals = { suspend: suspending.signal };
    const envelope = isFirst ? await session.ask("How long?", signals) : (await session.resume(signals))?.envelope;
    await session.close();
    if (!suspending.signal.aborted) return { envelope, taken, refused };
    suspending = new AbortController();
  }
}

const cell = (code: string, id: string) => ({ id, name: "rlm_exec", arguments: { code } });

/** Replies that want a note after the question, after a tool's result and after a text, with ids of all kinds. */
const TROUBLE: readonly ScriptedAnswer[] = [
  { text: "" },
  { text: "I will", finish: "length" },
  { text: "Let me look into it." },
  { tools: [cell("print(P.length)", "call_abc|fc_1"), cell("print(P[0])", "call_abc|fc_2")] },
  { text: "" },
  { tools: [cell("print(P[1])", "")] },
  { tools: [cell("answer(P.length)", "call_abc|fc_1")] },
];

test("every request of an ask alternates its roles and names calls by their places, whatever ids came", async () => {
  const { envelope, taken, refused } = await asked(TROUBLE, ["alternating", "nine letters"]);
  expect(refused).toEqual([]);
  expect(envelope).toMatchObject({ success: true, answer: 4 });
  const last = taken.at(-1)?.messages ?? [];
  expect(last.flatMap(({ tool_call_id }) => tool_call_id ?? [])).toEqual(["call00001", "call00002", "call00003"]);
  // The beginning that a cache keeps is that of the request before.
  for (const [at, { messages }] of taken.slice(1).entries()) {
    const before = JSON.stringify(taken[at]?.messages.slice(0, -1)).slice(0, -1);
    expect(JSON.stringify(messages).startsWith(before)).toBe(true);
  }
});

test("an ask that is resumed sends the bytes that it would have sent", async () => {
  const whole = await asked(TROUBLE, []);
  const { envelope, taken } = await asked(TROUBLE, [], [2, 6]);
  expect(envelope).toMatchObject({ success: true, answer: 4 });
  const bytes = taken.map(({ messages }) => JSON.stringify(messages));
  expect(bytes[2]).toBe(bytes[1]);
  const expected = whole.taken.map(({ messages }) => JSON.stringify(messages));
  expect([...new Set(bytes)]).toEqual(expected);
});

test("calls of one reply follow one another once a template has refused them together, for the rest of the process", async () => {
  const { envelope, taken, refused } = await asked(TROUBLE, ["alternating", "nine letters", "one call"]);
  expect(envelope).toMatchObject({ success: true, answer: 4 });
  expect(refused).toHaveLength(1);
  const roles = taken.at(-1)?.messages.map(({ role, tool_call_id: id }) => (id === undefined ? role : `result ${id}`));
  const inTurn = ["assistant", "result call00001", "assistant", "result call00002", "assistant", "result call00003"];
  expect(roles?.slice(-6)).toEqual(inTurn);
});

const BLOCKS: readonly ScriptedAnswer[] = [
  { text: "```js\nprint(P.length)\n```" },
  { text: "```js\nanswer(P.length)\n```" },
];

test("a template without tools and system prompts is asked by fences, with the system prompt in the first message", async () => {
  const { envelope, taken, refused } = await asked(BLOCKS, ["no system", "no tools", "alternating"]);
  expect(envelope).toMatchObject({ success: true, answer: 4 });
  expect(refused).toEqual(["System role not supported", "this model does not support tools"]);
  expect(taken[0]?.messages).toMatchObject([
    { role: "user", content: expect.stringMatching(/^You answer.*How long\?/s) },
  ]);
});

test("a template that takes tools and no results goes on by fences, with the calls so far as blocks", async () => {
  const script = [{ text: "I look.", tools: [cell("print(P.length)", "a")] }, ...BLOCKS.slice(1)];
  const { envelope, taken, refused } = await asked(script, ["no results", "alternating"]);
  expect(envelope).toMatchObject({ success: true, answer: 4 });
  // The system prompt counts among the roles of some templates, so a request without it is tried first.
  expect(refused).toHaveLength(2);
  const last = taken.at(-1)?.messages ?? [];
  expect(last.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  expect(last[1]?.content).toBe("I look.\n```js\nprint(P.length)\n```");
});
