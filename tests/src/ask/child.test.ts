import { expect, onTestFinished, test } from "vitest";
import { openSession, type SessionOptions } from "../../../src/index.ts";
import { type ScriptedAnswer, type SeenRequest, startModelServer } from "../../support/model-server.ts";

process.env.ASK_KEY = "k";
const TEXT = Array.from({ length: 200 }, (_, at) => `line ${at}: ${at === 137 ? "the code is 4711" : "nothing"}`).join(
  "\n",
);

/** The first message of a request's conversation, and how many replies it has had. */
function asked({ body }: SeenRequest): { readonly question: string; readonly turn: number } {
  const first = body.messages.find(({ role }) => role === "user")?.content;
  return { question: String(first), turn: body.messages.filter(({ role }) => role === "assistant").length };
}

/** A reply that runs a cell. It takes 110 tokens. */
const cell = (code: string): ScriptedAnswer => ({
  tools: [{ id: "u", name: "rlm_exec", arguments: { code } }],
  usage: { prompt: 100, completion: 10 },
});

/** A session over TEXT. Each conversation is answered by the cells of the first key that its question contains. */
async function scene(scripts: Readonly<Record<string, readonly ScriptedAnswer[]>>, options: SessionOptions = {}) {
  const server = await startModelServer((request) => {
    const { question, turn } = asked(request);
    const key = Object.keys(scripts).find((one) => question.includes(one));
    return scripts[key ?? ""]?.[turn] ?? { status: 418 };
  });
  onTestFinished(() => server.close());
  const session = await openSession({ model: "local/root", baseUrl: server.url, apiKeyEnv: "ASK_KEY", ...options });
  onTestFinished(() => session.close());
  await session.load({ text: TEXT, name: "notes.txt" });
  return { server, session };
}

/** A child that finds the code, and how its caller asks for it. */
const FINDS = [
  cell("print(P)"),
  cell('const [[at, end]] = find("code is \\\\d+").matches; answer(peek(at + 8, end), { cite: [at, end] })'),
];
const CALL = 'const [[at]] = find("the code").matches; const part = { context: [at - 10, at + 16] };';

test("a call with context is answered by a child, which sees that part of P and nothing else of its caller", async () => {
  const { session, server } = await scene({
    "What is in the part": [cell('print(typeof at, memory.get("k"), P)'), ...FINDS.slice(1)],
    "What is the code": [
      cell(
        `memory.put("k", 1); ${CALL} const got = await llm_query("What is in the part?", { ...part, cites: true });`,
      ),
      cell("print(got, peek(...got.cites[0]))"),
      cell("answer(got.answer, { cite: got.cites })"),
    ],
  });
  const envelope = await session.ask("What is the code?", { trajectory: true });
  expect(envelope).toMatchObject({ success: true, answer: "4711", turns: 3, cells: 3, sub_calls: 1 });
  expect(envelope).toMatchObject({ children: 1, depth_reached: 1 });
  expect(envelope.success && envelope.citations).toMatchObject([{ valid: true, line: 138, quote: "code is 4711" }]);
  expect(envelope.trajectory?.[1]?.cells[0]?.observation).toContain("code is 4711");
  const [, first, second] = server.requests.map(({ prompt }) => prompt);
  expect(first).toBe(
    "What is in the part?\n\nP has 59 characters in 1 document, from context.\n\nP is a part of a larger context: characters 2356 to 2382 of it.",
  );
  expect(second).toContain("undefined null \n===== notes.txt:2356-2382 =====\nline 137: the code is 4711\n");
  expect(second).toContain("[turn 1 of 10 done; left: 10 sub-calls, ");
});

test("cells outside of an ask make children too, and what these spend is charged to the call", async () => {
  const { session } = await scene({ "What is the code": FINDS });
  const ran = await session.exec(`${CALL} await llm_query("What is the code?", part)`);
  expect(ran).toMatchObject({ success: true, result_json: "4711" });
  expect(ran.budget).toMatchObject({ remaining_sub_calls: 49, remaining_tokens: 500_000 - 220 });
});
