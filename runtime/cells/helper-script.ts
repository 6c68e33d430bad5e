import type { Program } from "acorn";
import { parse } from "acorn";
import { checkProgram, refuseNames, syntaxErrorOf } from "./checks.ts";
import { declaredNames } from "./declarations.ts";
import { OWNED_NAMES } from "./owned-names.ts";
import { WRAPPER } from "./traceback.ts";

/** A helper as the engine runs it: a function around it, whose value holds its top-level names, live. */
export type HelperScript = ReturnType<typeof transformHelper>;

/** Put before a helper, on its first line. */
export const HELPER_PREFIX = `(function ${WRAPPER}() { `;

/**
 * Names that the machine owns stay inside the helper, since a helper of an earlier version may declare them.
 *
 * @throws CellSyntaxError as `transformCell`, and for anything that acorn cannot read (top-level await included)
 */
export function transformHelper(source: string, reserved: ReadonlySet<string>) {
  const program = readHelper(source);
  checkProgram(program, reserved);
  const names = new Set(declaredNames(program).map(({ name }) => name));
  const defined = [...names].filter((name) => !OWNED_NAMES.has(name));
  const accessors = defined.map((name) => `get ${name}() { return ${name}; }`).join(", ");
  return {
    source: `${HELPER_PREFIX}${source}\n;return { ${accessors} }; })()`,
    /** The number of names that it defines for cells. */
    names: defined.length,
  };
}

/** Refuses a new helper that declares a name which the machine owns. @throws CellSyntaxError */
export function checkHelperNames(source: string): void {
  const why = "is a global of the machine and cannot be declared by a helper";
  refuseNames(readHelper(source), OWNED_NAMES, why);
}

function readHelper(source: string): Program {
  try {
    return parse(source, { ecmaVersion: "latest", sourceType: "script", locations: true });
  } catch (error) {
    throw syntaxErrorOf(error, "A helper is a script of declarations: functions, classes, constants; no await.");
  }
}
