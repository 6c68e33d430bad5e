import type { Program } from "acorn";
import { parse } from "acorn";
import { CellSyntaxError, checkProgram, position, syntaxErrorOf } from "./checks.ts";
import { declaredNames } from "./declarations.ts";
import { OWNED_NAMES } from "./owned-names.ts";
import { WRAPPER } from "./traceback.ts";

/** A helper as the engine runs it: a function around it, whose value holds its top-level names, live. */
export interface HelperScript {
  readonly source: string;
  /** The number of names that it defines for cells. */
  readonly names: number;
}

/** Put before a helper, on its first line. */
export const HELPER_PREFIX = `(function ${WRAPPER}() { `;

/**
 * Names that the machine owns stay inside the helper, since a helper of an earlier version may declare them.
 *
 * @throws CellSyntaxError as `transformCell`, and for anything that acorn cannot read (top-level await included)
 */
export function transformHelper(source: string, reserved: ReadonlySet<string>): HelperScript {
  const program = readHelper(source);
  checkProgram(program, reserved);
  const names = new Set(declaredNames(program).map(({ name }) => name));
  const accessors = [...names]
    .filter((name) => !OWNED_NAMES.has(name))
    .map((name) => `get ${name}() { return ${name}; }`);
  const wrapped = `${HELPER_PREFIX}${source}\n;return { ${accessors.join(", ")} }; })()`;
  return { source: wrapped, names: accessors.length };
}

/** Refuses a new helper that declares a name which the machine owns. @throws CellSyntaxError */
export function checkHelperNames(source: string): void {
  for (const { name, node } of declaredNames(readHelper(source))) {
    if (!OWNED_NAMES.has(name)) continue;
    throw new CellSyntaxError(
      `${name} is a global of the machine and cannot be declared by a helper`,
      `Choose another name, such as my_${name}.`,
      position(node),
    );
  }
}

function readHelper(source: string): Program {
  try {
    return parse(source, { ecmaVersion: "latest", sourceType: "script", locations: true });
  } catch (error) {
    throw syntaxErrorOf(error, "A helper is a script of declarations: functions, classes, constants; no await.");
  }
}
