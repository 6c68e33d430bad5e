import { expect, test } from "vitest";
import { RlmError } from "../../../../runtime/index.ts";
import { openSessionWith } from "../../../../src/session/session.ts";
import { FREE } from "../../../../src/session/sub-calls/port.ts";
import { type Lease, openStore, type Store } from "../../../../src/store/index.ts";

const LOST = new RlmError("lease_lost", "the session is another process's now", { suggestion: "Read it again." });

/** A store in memory whose lease ends at the nth commit: after it is kept, or in its place. */
async function losingStore(nth: number, isKept: boolean): Promise<Store> {
  const kept = await openStore(null);
  const loss = new AbortController();
  let commits = 0;
  const losing = (lease: Lease): Lease => ({ ...lease, lost: loss.signal });
  const store: Store = {
    ...kept,
    create: async (session) => losing(await kept.create(session)),
    lease: async (id) => losing(await kept.lease(id)),
    async commit(id, step) {
      if (loss.signal.aborted) throw LOST;
      commits += 1;
      const more = commits < nth || isKept ? await kept.commit(id, step) : 0;
      if (commits < nth) return more;
      loss.abort(LOST);
      if (!isKept) throw LOST;
      return more;
    },
  };
  return store;
}

// A cell of two sub-calls has six commits: its start, a step, two answers, a step that waits for the third call, its end.
const CODE = "const two = await Promise.all([llm_query('a'), llm_query('b')]); [...two, await llm_query('c')]";
const SENT = [0, 0, 2, 2, 2, 3, 3];
const CASES = SENT.flatMap((sent, at) => [true, false].map((isKept) => ({ nth: at + 1, isKept, sent })));

test.for(CASES)(
  "a lease lost at commit $nth (kept: $isKept): nothing more is kept or sent",
  async ({ nth, isKept, sent: expected }) => {
    const store = await losingStore(nth, isKept);
    const sent: string[] = [];
    const answers = {
      facts: {},
      answer: async ({ id }: { readonly id: string }) => {
        sent.push(id);
        return { settlement: { ok: true as const, value: "yes" }, record: FREE, cacheKey: null };
      },
      repeatable: () => true,
      discard: async () => null,
    };
    const session = await openSessionWith({}, { store, answers });
    await expect(session.exec(CODE)).rejects.toBe(LOST);
    expect(sent).toHaveLength(expected);
    await expect(session.exec("1 + 1")).rejects.toMatchObject({
      code: expect.stringMatching(/^(lease_lost|exec_unfinished)$/),
    });
    expect(sent).toHaveLength(expected);
    await session.close();
    await store[Symbol.asyncDispose]();
  },
);
