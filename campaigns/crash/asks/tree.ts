import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ScriptedAnswer, startModelServer } from "../../../tests/support/model-server.ts";

/** The question of the ask. */
export const QUESTION = "How long are the two files";

/**
 * A tree of depth 2 with 13 requests, one after the other: the ask has three turns and two children, each of these has two
 * turns, a plain sub-call and a child, and each of theirs has two turns. Cells by the beginning of a question.
 */
const CELLS: Readonly<Record<string, readonly string[]>> = {
  [QUESTION]: [
    "const docs = list_docs(); const first = await rlm_query('Measure the first', { context: docs[0], cites: true }); print(first.answer)",
    "const second = await rlm_query('Measure the second', { context: docs[1] }); print(second)",
    "answer([first.answer, second, docs.length], { cite: first.cites })",
  ],
  "Measure the first": [
    "const word = await llm_query('Name it: ' + peek(0, 40), { tools: [] }); const deep = await rlm_query('Count its lines', { max_sub_calls: 0 }); print(word, deep)",
    "answer([word, deep, P.length].join(' '), { cite: find('entry 7').matches[0] })",
  ],
  "Measure the second": [
    "const word = await llm_query('Name it: ' + peek(0, 40), { tools: [] }); const deep = await llm_query('Count its words', { context: P, max_sub_calls: 0 }); print(word, deep)",
    "answer([word, deep, P.length].join(' '))",
  ],
  "Count its": ["memory.put('lines', P.split('\\n').length); print(P.length)", "answer(memory.get('lines'))"],
};

export const REQUESTS = 13;
/** The ask's session and those of its children. */
export const SESSIONS = 5;

/** Makes the folder that the ask is about. */
export function writeNotes(folder: string): void {
  const lines = (count: number) => Array.from({ length: count }, (_, at) => `entry ${at}: ${(at * 7919) % 10_007}`);
  mkdirSync(join(folder, "notes"), { recursive: true });
  for (const [name, count] of [["a.txt", 400] as const, ["b.txt", 60] as const]) {
    writeFileSync(join(folder, "notes", name), `${lines(count).join("\n")}\n`);
  }
}

/** A request as the server saw it. */
export interface AskedRequest {
  /** Process of the run, from 1. */
  readonly life: number;
  /** The whole request. */
  readonly body: string;
}

export interface TreeServer extends AsyncDisposable {
  readonly url: string;
  requestsOf(run: string): readonly AskedRequest[];
  forget(run: string): void;
}

/** Answers many runs; the key says by which process of which run a request is made. When an answer comes is chance. */
export async function startTreeServer(delayMs: () => number): Promise<TreeServer> {
  const runs = new Map<string, AskedRequest[]>();
  const server = await startModelServer(({ body, headers }) => {
    const [run = "", life] = (headers.authorization ?? "").replace("Bearer ", "").split(".");
    const requests = runs.get(run) ?? [];
    requests.push({ life: Number(life), body: JSON.stringify(body) });
    runs.set(run, requests);
    return { ...answerTo(body.model, body.messages), delayMs: delayMs() };
  });
  return {
    url: server.url,
    requestsOf: (run) => runs.get(run) ?? [],
    forget: (run) => runs.delete(run),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

type Messages = readonly { readonly role: string; readonly content?: unknown }[];

function answerTo(model: string, messages: Messages): ScriptedAnswer {
  if (model === "sub") return { text: "notes" };
  const question = String(messages.find(({ role }) => role === "user")?.content);
  const turn = messages.filter(({ role }) => role === "assistant").length;
  const code = Object.entries(CELLS).find(([asked]) => question.startsWith(asked))?.[1][turn];
  if (code === undefined) return { status: 418, body: `{"error":{"message":"no turn ${turn} of ${question}"}}` };
  return { tools: [{ id: `u${turn}`, name: "rlm_exec", arguments: { code } }] };
}
