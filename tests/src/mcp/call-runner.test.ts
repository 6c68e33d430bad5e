import fc from "fast-check";
import { expect, test } from "vitest";
import { openCallRunner } from "../../../src/mcp/call-runner.ts";
import type { ToolEnvelope } from "../../../src/tools/index.ts";
import { rlm_exec } from "../../../src/tools/rlm_exec.ts";
import { openMovedClock } from "../../support/moved-clock.ts";

/** A call as its client sees it, and the exec that it became. */
interface Asked {
  readonly id: string;
  readonly cancel: AbortController;
  begun: number;
  answers: ToolEnvelope[];
}

/** Calls of one session, whose execs end when the test says so. */
function scene() {
  const clock = openMovedClock();
  const left = new AbortController();
  let current: { readonly id: string; end(): void } | null = null;
  const over: string[] = [];
  const told: string[] = [];
  const asked: Asked[] = [];
  const waits: { readonly meant: string | null; readonly answer: Promise<ToolEnvelope | null> }[] = [];
  const runs = openCallRunner({
    clock,
    suspend: left.signal,
    execId: () => current?.id ?? null,
    async endCancelled() {
      const { id = null } = current ?? {};
      current = null;
      return { success: false, error_code: "cancelled", exec_id: id };
    },
  });

  function call(ms: number): void {
    const own: Asked = { id: `E${asked.length}`, cancel: new AbortController(), begun: 0, answers: [] };
    asked.push(own);
    const called = { tool: rlm_exec, signal: own.cancel.signal, answerMs: ms };
    const work = async ({ suspend }: { readonly suspend: AbortSignal }): Promise<ToolEnvelope> => {
      if (current) throw new Error(`${own.id} began while ${current.id} ran`);
      own.begun++;
      const ended = Promise.withResolvers<ToolEnvelope>();
      const end = (fields: object) => () => ended.resolve({ success: true, exec_id: own.id, ...fields });
      current = { id: own.id, end: end({ result_json: own.id }) };
      const stop = end({ success: false, error_code: "cancelled", resumable: true });
      if (suspend.aborted) stop();
      suspend.addEventListener("abort", stop);
      const envelope = await ended.promise;
      // What is suspended stays unfinished.
      if (envelope.resumable !== true) current = null;
      over.push(own.id);
      return envelope;
    };
    runs.run(called, work).then(
      (envelope) => {
        own.answers.push(envelope);
        told.push(...runs.takeEnded());
      },
      (error: unknown) => own.answers.push({ success: false, error_code: String(error) }),
    );
  }

  return {
    ...{ call, pass: clock.move, asked, over, told, waits },
    cancel: (n: number) => asked[n % Math.max(1, asked.length)]?.cancel.abort(),
    end: () => current?.end(),
    isBusy: () => runs.current() !== null,
    wait(n: number | null) {
      const meant = n === null ? null : (asked[n % Math.max(1, asked.length)]?.id ?? null);
      const called = { tool: rlm_exec, signal: new AbortController().signal, answerMs: 50 };
      waits.push({ meant, answer: runs.wait(called, meant) });
    },
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

const index = fc.nat({ max: 5 });
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("call"), n: fc.constantFrom(50, 50, 100) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("end"), n: index }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("pass"), n: fc.constantFrom(10, 49, 50, 100) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("cancel"), n: index }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait"), n: index }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("wait any"), n: index }) },
  // So many microtasks pass.
  { weight: 3, arbitrary: fc.record({ do: fc.constant("tick"), n: index }) },
);

test("however calls, cancels, waits and ends fall: each call runs once at most, and its answer is its own, once", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { call, pass, asked, over, told, waits, cancel, end, isBusy, wait } = scene();
      for (const { do: what, n } of steps) {
        if (what === "call") call(n);
        else if (what === "end") end();
        else if (what === "pass") pass(n);
        else if (what === "cancel") cancel(n);
        else if (what === "wait") wait(n);
        else if (what === "wait any") wait(null);
        else for (let tick = 0; tick < n; tick++) await null;
      }
      for (let left = 0; left <= 2 * asked.length; left++) {
        await settled();
        if (left % 2 === 1) pass(1_000);
        else end();
      }
      await settled();
      expect(isBusy()).toBe(false);
      for (const { id, begun, answers } of asked) {
        expect(answers, id).toHaveLength(1);
        const [{ success, running, exec_id, error_code, error_message } = { success: false }] = answers;
        if (error_code === "exec_running") {
          expect(begun, id).toBe(0);
          expect(error_message).not.toContain(`exec ${id})`);
        } else if (begun === 0) expect([error_code, begun], id).toEqual(["cancelled", 0]);
        else {
          // The time was over just when the exec had ended: nobody had seen its id.
          expect(running === true ? [id, null] : [id]).toContain(exec_id);
          expect([begun, success || error_code === "cancelled"], id).toEqual([1, true]);
        }
        if (running === true) expect(over, id).toContain(id);
      }
      for (const { meant, answer } of waits) {
        const given = await answer;
        if (given && meant !== null) expect(given.exec_id).toBe(meant);
      }
      expect(new Set(told).size).toBe(told.length);
      // Nobody is told of the end of a call that has its answer.
      const running = asked.filter(({ answers: [answer] }) => answer?.running === true).map(({ id }) => id);
      expect(running).toEqual(expect.arrayContaining(told));
    }),
    { numRuns: 400 },
  );
});
