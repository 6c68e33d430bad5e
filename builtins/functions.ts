import { argumentError, type CallScope, firstly, type Json, LIMITS, RlmError, roundedIn } from "../runtime/index.ts";
import type { Builtin, CallCheck } from "./define.ts";
import { factsOf } from "./facts.ts";
import type { FunctionFacts } from "./services.ts";
import { budgetExceeded } from "./sub-call.ts";

/** The calls of a function `NAME` are named `functions.NAME`. */
const FUNCTION_FAMILY = "functions";

export const functions: Builtin = {
  name: "functions",
  signature: "function functions(): LentFunction[]",
  summary:
    "The functions that the program lends to cells; none in most sessions. A cell calls one by its name with one object, and awaits it. An answer that is recorded is never asked for again.",
  example: "functions().map(({ name }) => name)",
  errors: {
    js_error:
      "the argument is no object, has a rounded whole number, or does not fit the function's parameters; it was not run",
    function_missing: "the program does not lend a function that it lent before",
    function_failed: "the function threw, or its result is no JSON or larger than 1 MB",
    budget_exceeded: "the budget does not allow the call (BudgetExceededError)",
    timeout: "the function took longer than its time",
    process_restarted: 'the process ended meanwhile, and a function with the effects "once" is not run again',
  },
  types: `interface LentFunction {
  name: string;
  description: string;
  /** JSON Schema of the argument. */
  parameters: object;
  effects: "none" | "idempotent" | "once";
}`,
  source: new URL("./functions.guest.js", import.meta.url),
  host: {
    "functions.list": (services) => services.functions().map((one) => ({ ...one })),
    "functions.names": (services) => services.functions().map(({ name }) => name),
  },
  calls: { [FUNCTION_FAMILY]: (...call) => checkCall(...call) },
};

/**
 * Looks at a call when the cell makes it. The argument is compared with the parameters before the
 * function runs.
 */
const checkCall: CallCheck = (services, args, scope, called) => {
  const name = called.slice(FUNCTION_FAMILY.length + 1);
  if (!services.functions().some((one) => one.name === name)) {
    const suggestion = `${firstly("giveFunction", name)}.`;
    throw new RlmError("function_missing", `the program does not lend the function ${name}`, { suggestion });
  }
  const [argument = {}] = args;
  if (args.length > 1 || typeof argument !== "object" || argument === null || Array.isArray(argument)) {
    throw argumentError(
      "TypeError",
      `${name} takes one object`,
      `Call it as ${name}({ … }); functions() has its keys.`,
    );
  }
  if (Buffer.byteLength(JSON.stringify(argument)) > LIMITS.functionBytes) {
    throw argumentError("RangeError", `${name}: the argument is too large (limit 1 MB)`, "Pass less in one call.");
  }
  if (hasPrototype(argument)) {
    throw argumentError("TypeError", `${name}: the argument has a key __proto__`, "Leave that key out.");
  }
  const rounded = roundedIn(argument);
  if (rounded) {
    const problem = `${name}: ${rounded.path} is ${rounded.value}, and JavaScript rounds whole numbers beyond 2^53`;
    throw argumentError("TypeError", problem, "Pass its digits as a text.");
  }
  if (factsOf(scope).remaining_time_ms <= 0) throw budgetExceeded(scope, "time_ms", "its time is over");
  if ((functionsLeft(scope) ?? 0) < 1) throw budgetExceeded(scope, "functions", "no calls of functions are left");
  return 0;
};

/** A program that copies its argument would change a prototype. */
function hasPrototype(value: Json): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.hasOwn(value, "__proto__") || Object.values(value).some(hasPrototype);
}

/** Calls of functions that may still be made; undefined: the program lends none. */
export function functionsLeft(scope: CallScope): number | undefined {
  const { remaining_functions: left } = factsOf(scope);
  return left === undefined ? undefined : Math.max(0, left - scope.newCallsOf(FUNCTION_FAMILY));
}

/** The functions as a model reads them, a line each; empty if there are none. */
export function functionLines(lent: readonly FunctionFacts[]): string {
  if (lent.length === 0) return "";
  const lines = lent.map((one) => `${one.name}(args) — ${one.description} args: ${JSON.stringify(one.parameters)}`);
  return `\n\nFunctions of the program; await each, with one object:\n${lines.join("\n")}`;
}
