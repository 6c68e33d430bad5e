import type { Json, PendingCall } from "../../runtime/index.ts";
import { openRuns, type RunOptions, type Runs } from "../../src/runs/open-runs.ts";
import type { Host } from "../../src/session/env.ts";
import type { Session } from "../../src/session/index.ts";
import { openSessionWith } from "../../src/session/session.ts";
import type { Answered } from "../../src/session/sub-calls/port.ts";
import { FREE } from "../../src/session/sub-calls/port.ts";
import type { Store } from "../../src/store/index.ts";
import type { ModelScript, ModelServer } from "./model-server.ts";

// Sessions and a run that are kept under tests/stored/ by one build, and opened by every later one.

/** A session between execs, and one whose process ended within a cell: its first call is answered, its second is not. */
export const FINISHED = "finished";
export const INTERRUPTED = "interrupted";

/** Opens one of them with models that `answer` stands for. */
export function openStored(
  name: string,
  parts: Host,
  answer: (prompt: Json, signal: AbortSignal) => Promise<Json>,
): Promise<Session> {
  return openSessionWith(
    { session: name },
    {
      ...parts,
      answers: {
        facts: { no_model: null },
        async answer({ args }: PendingCall, { signal }): Promise<Answered> {
          const value = await answer(args[0] ?? null, signal);
          return { settlement: { ok: true, value }, record: FREE, cacheKey: null };
        },
        repeatable: () => true,
      },
    },
  );
}

export const CONTEXT = "first line\nsecond line\n";

/** Every kind of thing that lives in a guest's heap, with memory and helpers. */
export const STATE = `
  const kept = { list: [1, [2]], map: new Map([["k", 3]]), big: 5n, text: P.slice(0, 5) };
  class Counter { #n = 0; next() { return ++this.#n; } }
  const counter = new Counter();
  counter.next();
  function* numbers() { yield 1; yield 2; yield 3; }
  const going = numbers();
  going.next();
  const peekLater = peek;
  memory.put("noted", { a: [1] });
  helpers.add("doubling", "const double = (x) => 2 * x;");
`;

/** What a cell finds of it. */
export const LOOK = `result = [
  kept.list[1][0], kept.map.get("k"), String(kept.big), kept.text, counter.next(), going.next().value,
  peekLater(0, 5), P.length, memory.get("noted"), double(21), find("line").matches.length,
]`;
export const SEEN = [2, 3, "5", "first", 2, 2, "first", CONTEXT.length, { a: [1] }, 42, 2];

/** What is left of it for a build that cannot read the guest. */
export const LOOK_WITHOUT_VARIABLES = 'result = [typeof kept, memory.get("noted"), double(21), P.length]';
export const SEEN_WITHOUT_VARIABLES = ["undefined", { a: [1] }, 42, CONTEXT.length];

export const INTERRUPTED_CELL = `
  const first = await llm_query("first", { tools: [] });
  const second = await llm_query("second", { tools: [] });
  result = [first, second, counter.next()];
`;

/** Sessions of asks: one that was answered, and one whose process ended while its second turn was out. */
export const ASKED = "asked";
export const ASKING = "asking";
export const QUESTION = "How many documents are there?";

/** Files of the folder that the asks are about. The last one is damaged. */
export const FOLDER = { "a.md": "# Apples\nred\n", "b.txt": "pears\n", "c.pdf": "%PDF-1.4" };

/** Replies to an ask: a cell, and then the answer. */
export const COUNT_CELL = "count = list_docs().length; print(count)";
export const ANSWER = "There are 2.";
export const COUNTED: ModelScript = ({ body }) => ({
  usage: { prompt: 100, completion: 10 },
  ...(body.messages.some(({ role }) => role === "tool")
    ? { text: ANSWER }
    : { tools: [{ id: "u", name: "rlm_exec", arguments: { code: COUNT_CELL } }] }),
});

/** Opens the session of an ask with the server of its models. */
export function openAsk(session: string, store: Store, server: Pick<ModelServer, "url">): Promise<Session> {
  process.env[KEY] = "none";
  const model = { model: "local/scripted", baseUrl: server.url, apiKeyEnv: KEY };
  return openSessionWith({ session, store: "-", ...model }, { store });
}

const KEY = "BELAY_STORED_KEY";

/** A run of two jobs: the first is done, and the process ended while the second waited for its second call. */
export const RUN: Pick<RunOptions, "name" | "script" | "inputs" | "model"> = {
  name: "tastes",
  model: "local/scripted",
  inputs: ["apple", "pear"].map((id) => ({ id })),
  script: {
    name: "taste.js",
    source: `
      const first = await llm_query("first " + job.id, { tools: [] });
      [first, await llm_query("second " + job.id, { tools: [] })]`,
  },
};

/** Opens runs with the server of their models. */
export function openStoredRuns(store: string, server: Pick<ModelServer, "url">): Promise<Runs> {
  process.env[KEY] = "none";
  return openRuns({ store, baseUrl: server.url, apiKeyEnv: KEY });
}
