import { Script } from "node:vm";
import { builtins, type FunctionFacts, MACHINE_NAMES } from "../../../builtins/index.ts";
import {
  type CallError,
  firstly,
  type Json,
  LIMITS,
  OWNED_NAMES,
  type PendingCall,
  RlmError,
  remedy,
} from "../../../runtime/index.ts";
import { loadSubCallLayer, TaskEnded } from "../../models/index.ts";
import { type CellJson, cellJson } from "../../platform/cell-json.ts";
import { messageOf } from "../../platform/errors.ts";
import { jsonOf } from "../../platform/json.ts";
import { aborted, joinSignals } from "../../platform/signals.ts";
import { wholeNumber } from "../../platform/written-json.ts";
import type { ExecRecords } from "../journal/exec-records.ts";
import { functionOf } from "../journal/ledger.ts";
import type { HostedOptions, SessionFunction } from "../option-types.ts";
import { refused } from "../options.ts";
import type { SessionParts } from "../parts.ts";
import { openLimiter } from "./concurrency.ts";
import { type Answered, type Answers, type CallContext, FREE } from "./port.ts";

/** A call with its function, which has this name in cells. */
interface Called extends Pick<PendingCall, "id"> {
  readonly name: string;
  readonly given: SessionFunction;
}

type Arguments = { readonly [name: string]: Json };

/**
 * Answers calls of the program's functions. A run lies between two commits: that of the call's record, which is on disk before
 * `answer` is called, and that of its result, which comes after. With the effects `once` the record of the run is one more, between
 * the program's approval and the run.
 */
export function openFunctions(
  lent: HostedOptions["functions"] = {},
  { env: { clock }, rules: { concurrency } }: Pick<SessionParts, "env" | "rules">,
): Required<Pick<Answers, "answer" | "effectsOf">> {
  const gate = openLimiter(concurrency);
  const find = (name: string) => (Object.hasOwn(lent, name) ? lent[name] : undefined);
  return {
    effectsOf: (call) => find(functionOf(call.name) ?? "")?.effects,
    async answer({ id, name: full, args }, context) {
      const name = functionOf(full) ?? full;
      const given = find(name);
      // The machine refuses a call of a function that is not lent.
      if (!given)
        return failed({ code: "function_missing", message: `the program does not lend the function ${name}` });
      using stopped = joinSignals(context.signal, context.timeOver);
      const called = { id, name, given };
      const checked = await checkedArguments(called, Object(args[0]), stopped.signal);
      if (stopped.signal.aborted) return failed(why(name, context));
      if ("problem" in checked) return failed(checked.problem);
      const work = async () => {
        const denial = await denialOf(called, checked.args, stopped.signal);
        if (stopped.signal.aborted) return null;
        return denial ? failed(denial) : run(called, checked.args, context, clock);
      };
      return (await gate.run(stopped.signal, work)) ?? failed(why(name, context));
    },
  };
}

/** A copy of the argument as the function takes it, or the reason why it does not fit the parameters. */
async function checkedArguments({ name, given }: Called, argument: Arguments, signal: AbortSignal) {
  const { taskThread } = await loadSubCallLayer();
  const parameters = jsonOf(given.parameters);
  const args = jsonOf(argument);
  const misfit = (why: string) => {
    const message = `${name}: the argument does not fit its parameters: ${why}`;
    return { problem: { name: "TypeError", code: "js_error", message, suggestion: "functions() has the parameters." } };
  };
  try {
    const { problems, ...checked } = await taskThread().run("arguments", [parameters, args], signal);
    return problems.length > 0 ? misfit(problems.join("; ")) : checked;
  } catch (error) {
    if (error instanceof TaskEnded) return misfit(error.message);
    throw error;
  }
}

/** The reason why the program does not let this call run; null: it may. */
async function denialOf(
  { name, given: { approve } }: Called,
  args: Arguments,
  signal: AbortSignal,
): Promise<Failure | null> {
  try {
    if (!approve || (await Promise.race([approve(args, { signal }), aborted(signal)])) === true) return null;
    const suggestion = "Go on without it, or call it with other arguments.";
    const message = `the program does not approve this call of ${name}`;
    return { name: "PolicyViolationError", code: "policy_violation", message, suggestion };
  } catch (error) {
    return failure(name, error);
  }
}

/** Runs the function until it has answered, or until its time or that of the session has ended, or the exec is. */
async function run(
  { id, name, given }: Called,
  args: Arguments,
  context: CallContext,
  clock: SessionParts["env"]["clock"],
): Promise<Answered> {
  const { effects, timeoutMs = LIMITS.subCallTimeoutMs } = given;
  const ends = effects === "once" ? await context.hold() : context.signal;
  if (ends.aborted) return failed(why(name, context));
  const late = new AbortController();
  const callOff = clock.after(timeoutMs, () => late.abort());
  using stopped = joinSignals(ends, context.timeOver, late.signal);
  const { signal } = stopped;
  const record = { ...FREE, sent_at: clock.now() };
  const tookTooLong = {
    name: "SubCallTimeoutError",
    code: "timeout",
    message: `${name} took longer than ${timeoutMs} ms`,
  };
  const unanswered = (error: Failure) => ({ ...failed({ retriable: effects !== "once", ...error }), record });
  const ended = () => unanswered(late.signal.aborted ? tookTooLong : why(name, context));
  context.begun();
  try {
    const asked = (async () => given.run(args, { signal, idempotencyKey: id }))();
    const outcome = await Promise.race([asked.then((value) => ({ value })), aborted(signal)]);
    if (!outcome) return ended();
    const { json, asText } = resultOf(outcome.value);
    const as_text = asText.map((field) => (field === "" ? name : `${name}.${field}`));
    const settlement = { ok: true, value: JSON.parse(json) } as const;
    return { settlement, record: { ...record, ...(as_text.length > 0 ? { as_text } : {}) }, cacheKey: null };
  } catch (error) {
    if (signal.aborted) return ended();
    return unanswered(failure(name, error));
  } finally {
    callOff();
  }
}

/** A copy of a result, in which a BigInt is a number or a text of its digits. @throws Error that says why it is no JSON */
function resultOf(value: unknown): CellJson {
  const json: string | undefined = JSON.stringify(value ?? null, function (this: Record<string, unknown>, key, item) {
    const given = this[key];
    if (typeof given === "bigint") return wholeNumber(given);
    const loss = lossOf(given);
    if (loss) throw new Error(`its result is no JSON: ${key === "" ? "it" : JSON.stringify(key)} is ${loss}`);
    return item;
  });
  // A toJSON may give nothing.
  const text = json ?? "null";
  if (Buffer.byteLength(text) <= LIMITS.functionBytes) return cellJson(text);
  throw new Error("its result is too large (limit 1 MB)");
}

/** The reason why JSON would lose a value; null: there is none. */
function lossOf(value: unknown): string | null {
  if (typeof value === "number") return Number.isFinite(value) ? null : String(value);
  if (["function", "symbol"].includes(typeof value)) return `a ${typeof value}`;
  if (typeof value !== "object" || value === null || Array.isArray(value) || "toJSON" in value) return null;
  // A plain object of another realm has another Object.prototype.
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return null;
  return `an instance of ${value.constructor?.name ?? "a class"}`;
}

type Failure = Partial<CallError> & Pick<CallError, "code" | "message">;

function failure(name: string, error: unknown): Failure {
  const message = `${name} failed: ${messageOf(error)}`.slice(0, LIMITS.errorMessageUnits).toWellFormed();
  return { code: "function_failed", message };
}

/** The answer to a call without a result. */
function failed(error: Failure): Answered {
  const suggestion = "Read the message, or continue without the function.";
  const record = { ...FREE, refused: true, ...(error.code === "budget_exceeded" ? TIME_MET : {}) };
  return { settlement: { ok: false, error: { name: "Error", suggestion, ...error } }, record, cacheKey: null };
}

const TIME_MET = { limit_met: "time_ms" } as const;

function why(name: string, { timeOver }: CallContext): Failure {
  if (!timeOver.aborted) return { code: "cancelled", message: `the call of ${name} was cancelled` };
  return { name: "BudgetExceededError", code: "budget_exceeded", message: "the time of the budget has run out" };
}

type Lent = HostedOptions["functions"];

/** The functions of a session's options as the machine's thread gets them. */
export function factsOfFunctions(lent: Lent = {}): FunctionFacts[] {
  return Object.entries(lent).map(([name, { description, parameters, effects }]) => {
    return { name, description, parameters: schemaOf(parameters), effects };
  });
}

/** @throws RlmError `invalid_argument` for a name that cells could not use, or a schema that cannot be checked */
export async function checkFunctions(lent: Lent = {}): Promise<void> {
  for (const [name, { parameters }] of Object.entries(lent)) {
    const place = `openSession(): functions.${name}`;
    if (!isIdentifier(name))
      throw refused(`${place} is not an identifier`, "Name it by letters, digits, _ and $, and no keyword.");
    if (TAKEN.has(name) || name in {})
      throw refused(`${place} has the name of a builtin or a global`, "Give it another name.");
    const { schemaProblem, taskThread } = await loadSubCallLayer();
    const flaw = await schemaProblem(schemaOf(parameters), taskThread(), new AbortController().signal);
    if (flaw) throw refused(`${place}.parameters: ${flaw.message}`, flaw.suggestion);
  }
}

const TAKEN: ReadonlySet<string> = new Set([
  ...OWNED_NAMES,
  ...Object.keys(MACHINE_NAMES),
  ...builtins.flatMap(({ name, aliases = [] }) => [name, ...aliases]),
]);

function isIdentifier(name: string): boolean {
  if (!/^[A-Za-z_$][\w$]{0,63}$/.test(name)) return false;
  try {
    // It is compiled and not run.
    new Script(`"use strict"; async () => { var ${name}; }`);
    return true;
  } catch {
    return false;
  }
}

function schemaOf(parameters: object): Json {
  try {
    return jsonOf(parameters);
  } catch {
    throw refused("openSession(): the parameters of a function are no JSON", "Pass a JSON Schema as plain data.");
  }
}

/** @throws RlmError `function_missing` if an interrupted exec calls a function that the session is opened without */
export function refuseMissing(lent: Lent = {}, { start, calls }: ExecRecords): void {
  const missing = calls.map(({ name }) => functionOf(name)).find((name) => name !== null && !Object.hasOwn(lent, name));
  if (missing == null) return;
  const problem = `the ${start.kind} that was interrupted calls the function ${missing}, which the program does not lend`;
  const suggestion = `${firstly("giveFunction", missing)}, and ${remedy("resume")}; or ${remedy("discard")}.`;
  throw new RlmError("function_missing", problem, { suggestion });
}
