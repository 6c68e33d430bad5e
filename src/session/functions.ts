import { Script } from "node:vm";
import { builtins, type FunctionFacts, MACHINE_NAMES } from "../../builtins/index.ts";
import { firstly, type Json, OWNED_NAMES, RlmError, remedy } from "../../runtime/index.ts";
import { loadSubCallLayer } from "../models/index.ts";
import { jsonOf } from "../platform/json.ts";
import type { ExecRecords } from "./journal/exec-records.ts";
import { functionOf } from "./journal/ledger.ts";
import type { HostedOptions } from "./option-types.ts";
import { refused } from "./options.ts";

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
