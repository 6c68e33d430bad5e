import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type ChatBody, type ScriptedAnswer, startModelServer } from "../../tests/support/model-server.ts";
import { ROOT, run } from "../process.ts";
import { type RunningServer, written } from "./llama.ts";

/** A request that was recorded, as far as a chat template renders it. */
interface RecordedRequest extends Pick<ChatBody, "messages" | "tools"> {
  /** The scene and the place of the request in it. */
  readonly name: string;
}

/** A scene: commands one after the other over a model that answers so; its last answer is repeated. */
interface RecordedScene {
  readonly answers: readonly ScriptedAnswer[];
  readonly commands: readonly (readonly string[])[];
}

/** Records the requests of scripted asks and sub-calls. @param folder an empty one, for the store and the files that are read */
export async function recordRequests(folder: string): Promise<readonly RecordedRequest[]> {
  await mkdir(join(folder, "letters"));
  await written(folder, "a.log", "ERROR a\nok\nERROR b\n".repeat(50));
  await written(folder, "letters/a.txt", "a letter\n");
  await written(folder, "n.json", '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}');
  const recorded: RecordedRequest[] = [];
  for (const [name, { answers, commands }] of Object.entries(SCENES)) {
    await using model = await startModelServer(({ index }) => answers[Math.min(index, answers.length - 1)] ?? {});
    const env = { ...process.env, BELAY_HOME: join(folder, "store"), BELAY_CONFIG_HOME: join(folder, "config") };
    for (const command of commands) {
      const args = [join(ROOT, "src/cli/main.ts"), ...command, "-q", "--base-url", model.url];
      await run(process.execPath, args, { cwd: folder, env });
    }
    const bodies = model.requests.map(({ body: { messages, tools } }, index) => ({
      name: `${name} ${index}`,
      messages,
      ...(tools ? { tools } : {}),
    }));
    if (bodies.length === 0) throw new Error(`the scene ${name} sent no request`);
    recorded.push(...bodies);
  }
  return recorded;
}

/** The reasons why a server's template refuses some of the requests, one for each that it refuses. */
export async function refusedRequests(
  { url }: RunningServer,
  requests: readonly RecordedRequest[],
): Promise<readonly string[]> {
  const reasons: string[] = [];
  for (const { name, ...body } of requests) {
    const answer = await fetch(new URL("/apply-template", url), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) reasons.push(`${name}: ${(await answer.text()).replaceAll(/\s+/g, " ").slice(0, 160)}`);
  }
  return reasons;
}

function cell(code: string, count = 1): ScriptedAnswer {
  const tools = Array.from({ length: count }, (_, n) => ({ id: `call_${n}`, name: "rlm_exec", arguments: { code } }));
  return { tools };
}

const DONE = cell('answer("2")');
const CUT: ScriptedAnswer = { text: "I will", finish: "length" };
const FENCE: ScriptedAnswer = { text: 'I look.\n```js\ncount("ERROR")\n```' };
const FENCED_END: ScriptedAnswer = { text: '```js\nanswer("2")\n```' };
const ASK = ["ask", "How many errors?", "-c", "a.log"];
const SCHEMA = '{ type: "object", properties: { who: { enum: ["ours", "user"] } }, required: ["who"] }';

function turns(count: number): ScriptedAnswer[] {
  return Array.from({ length: count }, (_, n) => cell(`${n}`));
}

function asked(answers: readonly ScriptedAnswer[], ...flags: readonly string[]): RecordedScene {
  return { answers, commands: [[...ASK, ...flags]] };
}

function asksModel(answers: readonly ScriptedAnswer[], code: string, ...flags: readonly string[]): RecordedScene {
  return { answers, commands: [["exec", "-e", code, ...flags]] };
}

const SCENES: Readonly<Record<string, RecordedScene>> = {
  "one call": asked([cell("count('ERROR')"), DONE]),
  "a cut reply": asked([CUT, cell("count('ERROR')"), DONE]),
  "two cut replies": asked([CUT, CUT, cell("1"), DONE]),
  prose: asked([{ text: "Let me look into it." }, cell("1"), DONE]),
  "an empty reply": asked([{ text: "" }, cell("1"), DONE]),
  "an empty reply after a call": asked([cell("1"), { text: "" }, DONE]),
  "prose after a call": asked([cell("1"), { text: "hm, I think" }, { text: "hm" }, DONE]),
  "a cut reply after a call": asked([cell("1"), CUT, DONE]),
  "two calls in a reply": asked([cell("1", 2), DONE]),
  "a cell that throws": asked([cell("nope()"), DONE]),
  "odd arguments": asked([{ tools: [{ id: "1", name: "rlm_exec", arguments: '{"code": "1"' }] }, DONE]),
  "an unknown tool": asked([{ tools: [{ id: "2", name: "bash", arguments: { cmd: "ls" } }] }, DONE]),
  "text beside a call": asked([{ ...cell("1"), text: "First I look." }, DONE]),
  "nine turns": asked([...turns(9), DONE], "--max-turns", "10"),
  "the last turns": asked([...turns(5), DONE], "--max-turns", "6"),
  "calls to the last turn": asked([...turns(4), DONE], "--max-turns", "4"),
  "a second question": {
    answers: [cell("1"), DONE],
    commands: [
      [...ASK, "--session", "q2"],
      ["ask", "And warnings?", "--session", "q2"],
    ],
  },
  "an ask with a schema": asked([cell("1"), cell('answer("x")'), cell("answer({ n: 2 })")], "--schema", "n.json"),
  "a repair": asksModel(
    [{ text: "It is ours" }, { text: '{"who":"ours"}' }],
    `await llm_query("x", { schema: ${SCHEMA} })`,
  ),
  "a sub-agent": asksModel(
    [{ tools: [{ id: "3", name: "grep", arguments: { pattern: "ERROR" } }] }, { text: "2" }],
    'await llm_query("count")',
    "-c",
    "a.log",
  ),
  "a system prompt": asksModel([{ text: "2" }], 'await llm_query("count", { system: "be brief" })'),
  "a child": asksModel([cell("1"), DONE], 'await rlm_query("count", { context: P.slice(0, 100) })', "-c", "a.log"),
  "a query": { answers: [{ text: "2" }], commands: [["query", "how many errors?", "-c", "letters"]] },
  "fenced cells": asked([FENCE, FENCED_END]),
  "a cut reply after a fenced cell": asked([FENCE, CUT, FENCED_END]),
};
