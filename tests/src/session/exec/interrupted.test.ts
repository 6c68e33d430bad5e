import fc from "fast-check";
import { expect, test } from "vitest";
import {
  continuationAt,
  continuationFromStart,
  elapsedIn,
  inFlight,
  stepsOf,
} from "../../../../src/session/exec/interrupted.ts";
import { EMPTY_ACCOUNT, follow } from "../../../../src/session/journal/account.ts";
import type { ExecRecords } from "../../../../src/session/journal/exec-records.ts";
import { hashOf, type JournalRecord, type ToolCall } from "../../../../src/session/journal/records.ts";
import type { CheckpointRow } from "../../../../src/store/index.ts";
import { newState } from "../../../support/checkpoints.ts";
import { resultOf, startOf } from "../../../support/journals.ts";

/** A slice of a guest: how many of the kept answers it is given, and how many calls it makes then. */
interface SlicePlan {
  readonly given: number;
  readonly made: number;
  /** Which of the calls that are out are answered while it waits, in this order. */
  readonly answered: readonly number[];
}

/** What the guest had when a checkpoint was captured. */
interface AtStep {
  readonly id: string;
  readonly waiting: readonly string[];
  readonly given: ReadonlySet<string>;
}

const plans: fc.Arbitrary<SlicePlan[]> = fc.array(
  fc.record({ given: fc.nat(4), made: fc.nat(3), answered: fc.array(fc.nat(7), { maxLength: 4 }) }),
  { maxLength: 8 },
);

const callOf = (number: number, checkpoint_id: string): ToolCall => ({
  ...{ record: "rlm_tool_call", exec_id: "x", call_id: `x.${number}`, checkpoint_id, name: "later", args: [number] },
  ...{ args_hash: hashOf([number]), call_count: number, output_bytes: 0, at: 1 },
});

/** The records and steps of an exec that goes so. */
function executed(slices: readonly SlicePlan[]): { records: JournalRecord[]; steps: AtStep[] } {
  const records: JournalRecord[] = [startOf("x", "cell")];
  const steps: AtStep[] = [];
  const given = new Set<string>();
  const waiting: string[] = [];
  const out: string[] = [];
  const kept: string[] = [];
  let made = 0;
  for (const [index, slice] of slices.entries()) {
    for (const id of kept.splice(0, slice.given)) {
      given.add(id);
      waiting.splice(waiting.indexOf(id), 1);
    }
    const calls = Array.from({ length: slice.made }, () => callOf(++made, `step-${index}`));
    waiting.push(...calls.map(({ call_id }) => call_id));
    out.push(...calls.map(({ call_id }) => call_id));
    if (calls.length > 0) steps.push({ id: `step-${index}`, waiting: [...waiting], given: new Set(given) });
    records.push(...calls);
    for (const which of slice.answered) {
      const [id] = out.splice(which % Math.max(out.length, 1), 1);
      if (id === undefined) continue;
      records.push({ ...resultOf("x", id), name: "later", elapsed_ms: records.length });
      kept.push(id);
    }
  }
  return { records, steps };
}

const rowOf = ({ id, waiting }: AtStep): CheckpointRow =>
  Object.assign(Object.create(null), { id, extras: { kind: "step", state: newState(), waiting, elapsed_ms: 5 } });

function recordsOf(records: readonly JournalRecord[]): ExecRecords {
  const { last } = records.reduce(follow, EMPTY_ACCOUNT);
  if (!last) throw new Error("an exec begins with its start");
  return last;
}

test("from any step, and from the start, the guest is given what it has not got, in order, and nothing twice", () => {
  fc.assert(
    fc.property(plans, fc.nat(40), (slices, end) => {
      const { records, steps } = executed(slices);
      const kept = records.slice(0, end + 1);
      const exec = recordsOf(kept);
      const results = exec.results.map(({ call_id }) => call_id);
      const known = steps.filter(({ id }) => exec.calls.some(({ checkpoint_id }) => checkpoint_id === id));
      expect(stepsOf(exec)).toEqual(known.map(({ id }) => id).reverse());
      for (const step of known) {
        // The calls of one step are kept in one commit.
        const isWhole = step.waiting.every((id) => exec.calls.some(({ call_id }) => call_id === id));
        if (!isWhole) continue;
        const { at, replay, recorded } = continuationAt(rowOf(step), exec);
        expect(at?.waiting.map(({ id }) => id)).toEqual(step.waiting);
        expect(replay.map(({ id }) => id)).toEqual(results.filter((id) => !step.given.has(id)));
        expect([...recorded]).toEqual(exec.calls.map(({ call_id }) => call_id));
      }
      const fromStart = continuationFromStart(exec);
      expect(fromStart.at).toBeNull();
      expect(fromStart.replay.map(({ id }) => id)).toEqual(results);
      const open = inFlight(exec).map(({ call_id }) => call_id);
      expect(new Set([...results, ...open])).toEqual(fromStart.recorded);
      expect(results.filter((id) => open.includes(id))).toEqual([]);
      expect(elapsedIn(exec, null)).toBe(Math.max(0, ...exec.results.map(({ elapsed_ms }) => elapsed_ms)));
    }),
    { numRuns: 100 },
  );
});

test("records that do not fit each other are refused by name", () => {
  const step: AtStep = { id: "step-0", waiting: ["x.1"], given: new Set() };
  const call = callOf(1, "step-0");
  const result = { ...resultOf("x", "x.1"), name: "later" };
  const at =
    (calls: ToolCall[], results = [result]) =>
    () =>
      continuationAt(rowOf(step), { calls, results });
  expect(at([call])).not.toThrow();
  expect(at([])).toThrow(/checkpoint step-0 waits for x\.1, which has no record/);
  expect(at([{ ...call, args: [2] }])).toThrow(/the arguments of x\.1 are not those that were hashed/);
  expect(at([call], [{ ...result, name: "other" }])).toThrow(/the result of x\.1 belongs to no recorded call/);
  expect(at([call], [{ ...result, call_id: "x.9" }])).toThrow(/the result of x\.9 belongs to no recorded call/);
});

test("a recorded failure is given again as the cell got it", () => {
  const value = { name: "SubCallTimeoutError", code: "timeout", message: "late", suggestion: "Wait.", retriable: true };
  const calls = [callOf(1, "step-0")];
  const results = [{ ...resultOf("x", "x.1"), name: "later", success: false, value }];
  const { replay } = continuationFromStart({ ...recordsOf([startOf("x", "cell")]), calls, results });
  expect(replay).toEqual([{ id: "x.1", name: "later", args: [1], settlement: { ok: false, error: value } }]);
});
