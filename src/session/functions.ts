import { Script } from "node:vm";
import { builtins, type FunctionFacts, MACHINE_NAMES } from "../../builtins/index.ts";
import { firstly, type Json, OWNED_NAMES, RlmError, remedy } from "../../runtime/index.ts";
import { loadSubCallLayer } from "../model/index.ts";
import { messageOf } from "../platform/errors.ts";
import type { HostedOptions } from "./api.ts";
import type { ExecRecords } from "./journal/exec-records.ts";
import { functionOf } from "./journal/ledger.ts";
import { refused } from "./options.ts";

type Lent = HostedOptions["functions"];

/** The functions of a session's options as the machine's thread gets them. */
export function factsOfFunctions(lent: Lent = {}): FunctionFacts[] {
  return Object.entries(lent).map(([name, { description, parameters, effects }]) => {
    return { name, description, parameters: jsonOf(parameters), effects };
  });
}

/** @throws RlmError `invalid_argument` for a name that cells could not use, or a schema that cannot be checked */
export async function checkFunctions(lent: Lent = {}): Promise<void> {
  for (const [name, { parameters }] of Object.entries(lent)) {
    const place = `openSession(): functions.${name}`;
    if (!isIdentifier(name))
      throw refused(`${place} is no identifier`, "Name it by letters, digits, _ and $, and no keyword.");
    if (TAKEN.has(name)) throw refused(`${place} has the name of a builtin or a global`, "Give it another name.");
    const flaw = await schemaFlaw(parameters);
    if (flaw) throw refused(`${place}.parameters: ${flaw.message}`, flaw.suggestion);
  }
}

async function schemaFlaw(
  parameters: object,
): Promise<{ readonly message: string; readonly suggestion: string } | null> {
  const { schemaProblem, taskThread } = await loadSubCallLayer();
  try {
    return await schemaProblem(jsonOf(parameters), taskThread(), NEVER);
  } catch (error) {
    return { message: `the schema is no JSON: ${messageOf(error)}`, suggestion: "Pass a JSON Schema." };
  }
}

const NEVER = new AbortController().signal;

const TAKEN: ReadonlySet<string> = new Set([
  ...OWNED_NAMES,
  ...Object.keys(MACHINE_NAMES),
  ...builtins.flatMap((builtin) => [builtin.name, ...(builtin.kind === "guest" ? builtin.aliases : [])]),
]);

const NAME_UNITS = 64;

function isIdentifier(name: string): boolean {
  if (!/^[A-Za-z_$][\w$]*$/.test(name) || name.length > NAME_UNITS) return false;
  try {
    // It is compiled and not run.
    new Script(`"use strict"; async () => { var ${name}; }`);
    return true;
  } catch {
    return false;
  }
}

const jsonOf = (schema: object): Json => JSON.parse(JSON.stringify(schema));

/** @throws RlmError `function_missing` if an interrupted exec calls a function that the session is opened without */
export function refuseMissing(lent: Lent = {}, { start, calls }: ExecRecords): void {
  const missing = calls.map(({ name }) => functionOf(name)).find((name) => name !== null && !Object.hasOwn(lent, name));
  if (missing == null) return;
  const problem = `the ${start.kind} that was interrupted calls the function ${missing}, which the program does not lend`;
  const suggestion = `${firstly("giveFunction", missing)}, and ${remedy("resume")}; or ${remedy("discard")}.`;
  throw new RlmError("function_missing", problem, { suggestion });
}
