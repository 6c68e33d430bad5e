import { setTimeout } from "node:timers/promises";
import type { Json } from "../../runtime/index.ts";
import { type AskEnvelope, type Complete, type ExecEnvelope, openSession } from "../../src/index.ts";
import { parseJson } from "../../src/platform/json.ts";
import { playBatch } from "./batch.ts";
import type { Case, Door } from "./case.ts";
import { playDelivery } from "./delivery.ts";
import { inOrder, type Place } from "./place.ts";
import { allTextOf, type Seen } from "./seen.ts";
import { type Asked, fieldOf } from "./server.ts";
import { modelNameOf, modelOf } from "./sessions.ts";

export const DOORS: Readonly<Record<Door, (one: Case, place: Place) => Promise<Seen>>> = {
  text: query,
  schema: query,
  agent: query,
  ask,
  own,
  "own-agent": own,
  fan,
  batch: playBatch,
  delivery: playDelivery,
};

/** Time of a call: failures that pass are tried again until it is over. */
const CALL_MS = 10_000;

const LOG = "ERROR 1\nERROR 2\nok\n";

async function query(one: Case, { server, files, sessions }: Place): Promise<Seen> {
  const asked = server.play(one.id, { reply: ({ index }) => inOrder(one)(index), ...routesOf(one) });
  const isAlone = one.session !== undefined || one.routes !== undefined;
  const session = isAlone
    ? await openSession({ cwd: files, ...modelOf(one, server), ...one.session })
    : await sessions.of(one);
  try {
    let answer = await session.exec(codeOf(one));
    for (let time = 1; time < (one.times ?? 1); time++) answer = await session.exec(codeOf(one));
    return { ...seenIn(answer), asked };
  } finally {
    if (isAlone) await session.close();
  }
}

function routesOf({ routes }: Case) {
  return routes === undefined ? {} : { routes };
}

/** A cell that makes the call, and prints whether its failure is one that passes. */
function codeOf(one: Case): string {
  const { door, prompt = "What is it?", options, schema } = one;
  const all = {
    ...(door.startsWith("own") ? {} : { model: modelNameOf(one) }),
    ...(door === "agent" || door === "own-agent" ? {} : { tools: [] }),
    ...(schema === undefined ? {} : { schema }),
    timeout_ms: CALL_MS,
    ...options,
  };
  const call = `llm_query(${JSON.stringify(prompt)}, ${JSON.stringify(all)})`;
  return `await (async () => ${call})().catch((error) => { print(error.retriable); throw error; })`;
}

function seenIn(envelope: ExecEnvelope): Omit<Seen, "asked"> {
  const { warnings, stdout } = envelope;
  if (envelope.success) return { value: envelope.result_json, fails: null, says: "", warnings };
  const retriable = parseJson(stdout.trim());
  return {
    ...{ value: null, fails: envelope.error_code, warnings },
    says: `${envelope.error_message}\n${envelope.suggestion}`,
    retriable: typeof retriable === "boolean" ? retriable : undefined,
  };
}

async function ask(one: Case, { server, files }: Place): Promise<Seen> {
  const asked = server.play(one.id, { reply: ({ index }) => inOrder(one)(index), ...routesOf(one) });
  await using session = await openSession({ cwd: files, ...modelOf(one, server), ...one.session });
  await session.load({ name: "a.log", text: LOG });
  const question = one.prompt ?? "How many errors are in the log?";
  let envelope: AskEnvelope;
  try {
    envelope = await session.ask(question, { ...one.ask, trajectory: true });
  } catch (error) {
    return { value: null, fails: String(fieldOf(asJson(error), "code")), says: String(error), warnings: [], asked };
  }
  const { warnings, trajectory = [] } = envelope;
  const cells = trajectory.flatMap((turn) => turn.cells.map(({ code }) => code));
  if (envelope.success)
    return { value: envelope.answer, fails: null, says: "", warnings, asked, cells, by: envelope.answered_by };
  return {
    ...{ value: null, fails: envelope.error_code, warnings, asked, cells },
    says: `${envelope.error_message}\n${envelope.suggestion}`,
    resumable: envelope.resumable,
  };
}

function asJson(error: unknown): Json {
  return typeof error === "object" && error !== null && "code" in error ? { code: String(error.code) } : null;
}

/** A program answers in place of a provider. */
async function own(one: Case, { files }: Place): Promise<Seen> {
  const requests: Asked[] = [];
  let told = "";
  const complete: Complete = async ({ messages, model, ...request }) => {
    const index = requests.length;
    const body = JSON.parse(JSON.stringify({ model, messages, ...request }));
    requests.push({ index, api: "chat", body, headers: {}, at: performance.now() });
    const last = messages.at(-1);
    told = last && last.role !== "assistant" ? last.text : "";
    return answerOf(one, index);
  };
  await using session = await openSession({ cwd: files, complete, model: "own/model", ...one.session });
  const answer = await session.exec(codeOf(one));
  return { ...seenIn(answer), asked: requests, told };
}

/** What a program gives; of `own-agent` a call first, then what follows. */
function answerOf(one: Case, index: number): Awaited<ReturnType<Complete>> {
  const all = [...(one.prelude ?? []), ...one.replies];
  const reply = all[index] ?? (one.door === "own-agent" ? { text: "ok" } : (all.at(-1) ?? {}));
  const text = typeof reply.text === "string" ? reply.text : "";
  if (one.door !== "own-agent" || !reply.calls) return text;
  const use = { id: one.uid, name: "list_dir", arguments: one.args };
  // Programs give what their types do not allow.
  return { text, toolUses: [use] } as unknown as Awaited<ReturnType<Complete>>;
}

/** Calls that begin alike, made at once. The server caches a beginning once the first token of an answer to it is there. */
async function fan(one: Case, { server, files }: Place): Promise<Seen> {
  const { n = 8, firstMs = 0 } = one;
  const begun: string[] = [];
  let hits = 0;
  const asked = server.play(one.id, {
    async reply(request) {
      const text = allTextOf(request);
      const isHit = begun.some((other) => commonLength(other, text) >= Math.min(one.share ?? 0, text.length) * 0.9);
      if (isHit) hits++;
      await setTimeout(firstMs);
      if (one.failFirst && request.index === 0) return { status: 400, body: { error: { message: "no" } } };
      return { usage: { prompt: 10_000, completion: 2, cached: isHit ? 9000 : 0 }, ...inOrder(one)(request.index) };
    },
    begun: (request) => void begun.push(allTextOf(request)),
  });
  await using session = await openSession({ cwd: files, concurrency: n, ...modelOf(one, server), ...one.session });
  const envelope = await session.exec(fanCode(one));
  return { ...seenIn(envelope), asked, hits, done: envelope.success ? Number(envelope.result_json) : 0 };
}

function fanCode({ n = 8, share = 0, groups = 1, differ = false, inSystem = false }: Case): string {
  return `const shared = "The document. ".repeat(${Math.ceil(share / 14)}).slice(0, ${share});
const calls = Array.from({ length: ${n} }, (_, i) => {
  const begin = (${differ} ? i : i % ${groups}) + ". " + shared;
  return ${inSystem}
    ? llm_query("Question " + i, { tools: [], system: begin })
    : llm_query(begin + " Question " + i, { tools: [] });
});
(await Promise.allSettled(calls)).filter(({ status }) => status === "fulfilled").length`;
}

function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}
