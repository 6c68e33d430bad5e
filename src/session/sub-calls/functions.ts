import { type CallError, type Clock, type Json, LIMITS, type PendingCall } from "../../../runtime/index.ts";
import { loadSubCallLayer, TaskEnded } from "../../model/index.ts";
import { messageOf } from "../../platform/errors.ts";
import { aborted, joinSignals } from "../../platform/signals.ts";
import type { HostedOptions, SessionFunction } from "../api.ts";
import { functionOf } from "../journal/ledger.ts";
import type { Setup } from "../setup.ts";
import { openLimiter } from "./places.ts";
import { FREE } from "./plan.ts";
import type { Answered, Answers, CallContext } from "./port.ts";

type Call = Pick<PendingCall, "id" | "args">;

/**
 * Answers calls of the program's functions. A run lies between two commits: that of the call's record, which is on disk before
 * `answer` is called, and that of its result, which comes after.
 */
export function openFunctions(
  lent: HostedOptions["functions"] = {},
  { env: { clock }, rules: { concurrency } }: Pick<Setup, "env" | "rules">,
): Required<Pick<Answers, "answer" | "effectsOf">> {
  const gate = openLimiter(concurrency);
  const find = (called: string): SessionFunction | undefined => {
    const name = functionOf(called);
    return name !== null && Object.hasOwn(lent, name) ? lent[name] : undefined;
  };
  return {
    effectsOf: ({ name }) => find(name)?.effects,
    async answer(call, context) {
      const name = functionOf(call.name) ?? call.name;
      const given = find(call.name);
      // The machine refuses a call of a function that is not lent.
      if (!given)
        return notRun({ code: "function_missing", message: `the program does not lend the function ${name}` });
      const checked = await checkedArgument(name, given, call, context);
      if ("settlement" in checked) return checked;
      using stopped = joinSignals(context.signal, context.timeOver);
      const answered = await gate.run(stopped.signal, () => run(name, given, { ...checked, call, context, clock }));
      return answered ?? notRun(why(name, context));
    },
  };
}

interface Checked {
  readonly args: { readonly [name: string]: Json };
}

/** A copy of the argument as the function takes it, or the refusal of one that does not fit the parameters. */
async function checkedArgument(
  name: string,
  { parameters }: SessionFunction,
  { args: [argument = {}] }: Call,
  context: CallContext,
): Promise<Checked | Answered> {
  const { taskThread } = await loadSubCallLayer();
  using stopped = joinSignals(context.signal, context.timeOver);
  try {
    const given: [Checked["args"], Checked["args"]] = JSON.parse(JSON.stringify([parameters, argument]));
    const { args, problems } = await taskThread().run("arguments", given, stopped.signal);
    if (problems.length === 0) return { args };
    return notRun(misfit(`${name}: the argument does not fit: ${problems.join("; ")}`, name));
  } catch (error) {
    if (stopped.signal.aborted) return notRun(why(name, context));
    if (!(error instanceof TaskEnded)) throw error;
    return notRun(misfit(`${name}: the argument could not be compared with the parameters: ${error.message}`, name));
  }
}

const misfit = (message: string, name: string) => ({
  ...{ name: "TypeError", code: "js_error", message },
  suggestion: `help("${name}") has the schema.`,
});

interface Running extends Checked {
  readonly call: Call;
  readonly context: CallContext;
  readonly clock: Clock;
}

/** Runs the function until it has answered, or until its time or that of the session is over, or the exec is. */
async function run(name: string, given: SessionFunction, { args, call, context, clock }: Running): Promise<Answered> {
  const { effects, timeoutMs = LIMITS.subCallTimeoutMs } = given;
  const late = new AbortController();
  const callOff = clock.after(timeoutMs, () => late.abort());
  using stopped = joinSignals(context.signal, context.timeOver, late.signal);
  const { signal } = stopped;
  const record = { ...FREE, sent_at: clock.now() };
  const failed = (error: Failure): Answered => ({ ...notRun({ retriable: effects !== "once", ...error }), record });
  const ended = () => failed(late.signal.aborted ? tookTooLong(name, timeoutMs) : why(name, context));
  context.begun();
  try {
    const asked = (async () => given.run(args, { signal, idempotencyKey: call.id }))();
    const outcome = await Promise.race([asked.then((value) => ({ value })), aborted(signal)]);
    if (!outcome) return ended();
    return { settlement: { ok: true, value: jsonOf(outcome.value) }, record, cacheKey: null };
  } catch (error) {
    if (signal.aborted) return ended();
    const message = `${name} failed: ${messageOf(error)}`.slice(0, LIMITS.errorMessageUnits).toWellFormed();
    return failed({ code: "function_failed", message });
  } finally {
    callOff();
  }
}

/** A copy of a result. @throws Error that says why it is no JSON */
function jsonOf(value: unknown): Json {
  const made: string | undefined = JSON.stringify(
    value ?? null,
    function (this: Record<string, unknown>, key, item: unknown) {
      const flaw = lossOf(this[key]);
      if (flaw) throw new Error(`its result is no JSON: ${key === "" ? "it" : JSON.stringify(key)} is ${flaw}`);
      return item;
    },
  );
  // A toJSON may give nothing.
  const text = made ?? "null";
  const bytes = Buffer.byteLength(text);
  if (bytes <= LIMITS.functionBytes) return JSON.parse(text);
  throw new Error(`its result has ${(bytes / 2 ** 20).toFixed(1)} MB (limit 1 MB)`);
}

/** What JSON would lose; null: nothing. */
function lossOf(value: unknown): string | null {
  if (typeof value === "number") return Number.isFinite(value) ? null : String(value);
  if (["function", "symbol", "bigint"].includes(typeof value)) return `a ${typeof value}`;
  if (typeof value !== "object" || value === null || Array.isArray(value) || "toJSON" in value) return null;
  // A plain object of another realm has another Object.prototype.
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return null;
  return `an instance of ${value.constructor?.name ?? "a class"}`;
}

type Failure = Partial<CallError> & Pick<CallError, "code" | "message">;

/** The answer to a call whose function did not run: it does not count. */
function notRun({ name = "Error", suggestion = CURE, ...error }: Failure): Answered {
  return {
    settlement: { ok: false, error: { name, suggestion, ...error } },
    record: { ...FREE, refused: true },
    cacheKey: null,
  };
}

const CURE = "Look at what the message tells, or go on without the function.";

const tookTooLong = (name: string, ms: number): Failure => ({
  ...{ name: "SubCallTimeoutError", code: "timeout", message: `${name} took longer than ${ms} ms` },
  suggestion: "Ask it for less in one call.",
});

function why(name: string, { timeOver }: CallContext): Failure {
  if (!timeOver.aborted) return { code: "cancelled", message: `the call of ${name} was cancelled` };
  return { name: "BudgetExceededError", code: "budget_exceeded", message: "the session's time is over" };
}
