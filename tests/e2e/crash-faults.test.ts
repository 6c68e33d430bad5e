import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { RlmError } from "../../src/index.ts";
import type { Session } from "../../src/session/api.ts";
import { openSessionWith } from "../../src/session/session.ts";
import type { Store } from "../../src/store/port.ts";
import { openStore } from "../../src/store/thread.ts";
import { DISK_FAILURES, failingStore } from "../support/failing-store.ts";
import { lengthAnswers } from "../support/length-answers.ts";

const open = (store: Store) => openSessionWith({ session: "s" }, { store, answers: lengthAnswers() });

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
  (session) => session.load({ name: "a.txt", text: "the first document" }),
  cell("globalThis.count = 1; memory.put('k', P.length);"),
  cell(
    `let sum = 1; for (const n of [1, 2]) sum += (await llm_query("x".repeat(n), { tools: [] })).length; count = sum;`,
  ),
  (session) => session.helpers.add("h", "const helped = () => count * 2;"),
  (session) => session.loadAppend({ name: "b.txt", text: "the second" }),
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
  await using session = await open(store);
  const stands = [await standOf(session)];
  for (const step of STEPS) {
    await step(session);
    stands.push(await standOf(session));
  }
  return stands;
}

/** Tries twice at the most; what the first attempt failed with goes to `errors`. */
async function patiently<T>(errors: RlmError[], attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    errors.push(error);
    return await attempt();
  }
}

/** Takes a step; where it fails, looks what became of it, and takes it again unless it could be finished. */
async function takeStep(session: Session, step: Step, [before, after]: readonly (string | undefined)[]) {
  try {
    await step(session);
    return null;
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    // What is unfinished can be finished; what was said to have failed has changed nothing.
    const finished = session.unfinished() !== null && (await session.resume()) !== null;
    expect(await standOf(session), error.message).toBe(finished ? after : before);
    if (!finished) await step(session);
    return error;
  }
}

test("whichever operation of the store fails: a clear error, the old or the new state, and the session goes on", async () => {
  const stands = await standsOf();
  const told = new Map<string, string[]>();
  for (let nth = 1; ; nth++) {
    const folder = mkdtempSync(join(tmpdir(), "belay-faults-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const failure = DISK_FAILURES[nth % DISK_FAILURES.length] ?? "EIO";
    const where = `operation ${nth}, ${failure}`;
    {
      await using kept = await openStore(folder);
      const { store, failed } = failingStore(kept, nth, failure);
      const errors: RlmError[] = [];
      const session = await patiently(errors, () => open(store));
      const look = () =>
        patiently(errors, async () => {
          // A cell of which the end was not kept is finished first.
          await session.resume();
          return standOf(session);
        });
      for (const [index, step] of STEPS.entries()) {
        const error = await takeStep(session, step, [stands[index], stands[index + 1]]);
        if (error) errors.push(error);
        expect(await look(), where).toBe(stands[index + 1]);
      }
      await patiently(errors, () => session.close());
      for (const { code, message, suggestion } of errors) {
        expect(["store_failed", "checkpoint_failed"], `${where}: ${message}`).toContain(code);
        expect(message, where).toContain(failure);
        expect(suggestion, where).not.toBe("");
        const name = failed() ?? "";
        told.set(name, [...(told.get(name) ?? []), code]);
      }
      expect(errors.length, where).toBeLessThanOrEqual(1);
      if (failed() === null) break;
    }
    await using store = await openStore(folder);
    expect(await store.verify(), where).toEqual([]);
    await using session = await open(store);
    expect(await standOf(session), where).toBe(stands.at(-1));
  }
  expect([...told.keys()]).toEqual(expect.arrayContaining(["create", "commit", "putContext"]));
}, 240_000);
