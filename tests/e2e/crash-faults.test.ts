import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { RlmError } from "../../src/index.ts";
import { openSessionWith, type Session } from "../../src/session/index.ts";
import { findingsIn, openStore, type Store } from "../../src/store/index.ts";
import { DISK_FAILURES, type FailingOptions, failingStore } from "../support/failing-store.ts";
import { lengthAnswers } from "../support/length-answers.ts";
import { folderWith, grow } from "../support/tree.ts";

const CONTEXTS = mkdtempSync(join(tmpdir(), "belay-contexts-"));

grow(CONTEXTS, { "a.txt": "the first document", "b.txt": "the second" });
afterAll(() => rmSync(CONTEXTS, { recursive: true }));

const open = (store: Store, session: string) =>
  openSessionWith({ session, cwd: CONTEXTS }, { store, answers: lengthAnswers() });

/** What no session reaches goes; sessions stay. */
const UNREACHED = { now: 0, anonymousMs: 1, namedMs: null, pi: false, dryRun: false };

/** A step of the session; one that fails by an envelope throws its code and message. */
type Step = (session: Session) => Promise<unknown>;

const cell =
  (source: string): Step =>
  async (session) => {
    const envelope = await session.exec(source);
    if (!envelope.success) throw new RlmError(envelope.error_code, envelope.error_message, envelope);
  };

/** A cell that fails keeps what it changed until then, so each changes `count` last. */
const STEPS: readonly Step[] = [
  (session) => session.load("a.txt"),
  cell("globalThis.count = 1; memory.put('k', P.length);"),
  cell(`count = 1 + (await llm_query("x", { tools: [] })).length;`),
  (session) => session.helpers.add("h", "const helped = () => count * 2;"),
  (session) => session.loadAppend("b.txt"),
  cell(`const { results } = await llm_query_batch(["aa", "bbb"], { tools: [] }); count += results.map(Number).length;`),
];

/** All that the steps change, read without changing it. */
async function standOf(session: Session): Promise<string> {
  const envelope = await session.exec(
    "result = [globalThis.count ?? null, memory.list(), helpers.list().length, session().sources]",
  );
  if (!envelope.success) throw new RlmError(envelope.error_code, envelope.error_message, envelope);
  return JSON.stringify(envelope.result_json);
}

/** What the steps lead to when nothing fails: the stand before each and after the last. */
async function standsOf(): Promise<string[]> {
  await using store = await openStore(null);
  await using session = await open(store, "whole");
  const stands = [await standOf(session)];
  for (const step of STEPS) {
    await step(session);
    stands.push(await standOf(session));
  }
  return stands;
}

/** Work that is done again after a failure of the store was cured. */
interface Patience {
  readonly errors: RlmError[];
  /** The second attempt; by default the same again. */
  twice<T>(attempt: () => Promise<T>, again?: () => Promise<T>): Promise<T>;
}

function patience(cure: () => void): Patience {
  const errors: RlmError[] = [];
  return {
    errors,
    async twice(attempt, again = attempt) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof RlmError)) throw error;
        errors.push(error);
        cure();
        return await again();
      }
    },
  };
}

/** After a step that failed: what is unfinished can be finished; what was said to have failed has changed nothing. */
async function goOn(session: Session, step: Step, [before, after]: readonly (string | undefined)[]): Promise<void> {
  const finished = session.unfinished() !== null && (await session.resume()) !== null;
  expect(await standOf(session)).toBe(finished ? after : before);
  if (!finished) await step(session);
}

/** Takes all steps while an operation fails. Gives that operation and the codes that told of it; null where none was left to fail. */
async function goThrough(kept: Store, name: string, stands: readonly string[], failing: FailingOptions) {
  const { store, failed, cure } = failingStore(kept, failing);
  const { errors, twice } = patience(cure);
  const session = await twice(() => open(store, name));
  for (const [index, step] of STEPS.entries()) {
    await twice(
      () => step(session),
      () => goOn(session, step, [stands[index], stands[index + 1]]),
    );
  }
  const look = () => standOf(session);
  // The cell that looks may itself be left unfinished.
  expect(await twice(look, () => session.resume().then(look))).toBe(stands.at(-1));
  await twice(() => session.close());
  // Where that is what failed: a process would take its leases with it.
  await kept.release(session.id);
  for (const { code, message, suggestion } of errors) {
    expect(["store_failed", "checkpoint_failed"], message).toContain(code);
    expect(message).toContain(failing.failure);
    expect(suggestion).not.toBe("");
  }
  expect(errors.length).toBeLessThanOrEqual(1);
  return failed();
}

test.each([
  { lasting: false, what: "fails" },
  { lasting: true, what: "and all after it fail" },
])(
  "whichever operation of the store $what: a clear error, old or new state, and it goes on",
  async ({ lasting }) => {
    const stands = await standsOf();
    const failed = new Set<string>();
    await using store = await openStore(folderWith());
    // Where all later ones fail too, one in five tells the same.
    for (let nth = 1; ; nth += lasting ? 5 : 1) {
      const name = `s${nth}`;
      const failure = DISK_FAILURES[nth % DISK_FAILURES.length] ?? "EIO";
      const operation = await goThrough(store, name, stands, { nth, lasting, failure });
      if (operation === null) break;
      failed.add(operation);
      expect(await findingsIn(store), `${nth}: ${operation}`).toEqual([]);
      await using session = await open(store, name);
      expect(await standOf(session), `${nth}: ${operation}`).toBe(stands.at(-1));
      await session.close();
      await store.remove(session.id);
      // The next one has to keep its contexts anew.
      await store.gc(UNREACHED);
    }
    expect([...failed]).toEqual(expect.arrayContaining(lasting ? ["commit"] : ["create", "commit", "putContext"]));
  },
  240_000,
);
