import type { Json, PendingCall } from "../../runtime/index.ts";
import type { Host } from "../../src/session/env.ts";
import type { Session } from "../../src/session/index.ts";
import { openSessionWith } from "../../src/session/session.ts";
import type { Answered } from "../../src/session/sub-calls/port.ts";
import { FREE } from "../../src/session/sub-calls/refusals.ts";

// Sessions that are kept under tests/stored/ by one build, and opened by every later one.

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
