import type { Program } from "acorn";
import { parse } from "acorn";
import { checkProgram, refuseModules, refuseNames, syntaxErrorOf } from "./checks.ts";
import { declaredNames } from "./declarations.ts";
import { OWNED_NAMES } from "./owned-names.ts";
import { WRAPPER } from "./traceback.ts";
import { isScriptMistake, withoutTypes } from "./typescript.ts";

/**
 * A helper as the engine runs it: a function around it, whose value holds its top-level names,
 * live.
 */
export interface HelperScript {
  readonly source: string;
  /** The helper as JavaScript, each token where its author wrote it. */
  readonly code: string;
  /** The number of names that it defines for cells. */
  readonly names: number;
  /** True if the helper is TypeScript, and its types were taken out. */
  readonly isTypeScript: boolean;
}

/** Put before a helper, on its first line. */
export const HELPER_PREFIX = `(function ${WRAPPER}() { `;

/**
 * Names that the machine owns stay inside the helper, since a helper of an earlier version may
 * declare them.
 *
 * @throws CellSyntaxError as `transformCell`, and for anything that acorn cannot read (top-level
 * await included)
 */
export function transformHelper(source: string, reserved: ReadonlySet<string>): HelperScript {
  const { program, code } = readHelper(source);
  checkProgram(program, reserved);
  const names = new Set(declaredNames(program).map(({ name }) => name));
  const defined = [...names].filter((name) => !OWNED_NAMES.has(name));
  const accessors = defined.map((name) => `get ${name}() { return ${name}; }`).join(", ");
  return {
    source: `${HELPER_PREFIX}${code}\n;return { ${accessors} }; })()`,
    code,
    names: defined.length,
    isTypeScript: code !== source,
  };
}

/** Refuses a new helper that declares a name which the machine owns. @throws CellSyntaxError */
export function checkHelperNames(source: string): void {
  const why = "is a global of the machine and cannot be declared by a helper";
  refuseNames(readHelper(source).program, OWNED_NAMES, why);
}

/** A helper's program, with its source without types. @throws CellSyntaxError */
function readHelper(source: string): { readonly program: Program; readonly code: string } {
  const program = read(source, "script");
  if (!(program instanceof Error)) return { program, code: source };
  const typeless = isScriptMistake(program) ? withoutTypes(source, program) : null;
  const code = typeless ?? source;
  const typed = typeless === null ? program : read(typeless, "script");
  if (!(typed instanceof Error)) return { program: typed, code };
  const module = read(code, "module");
  if (!(module instanceof Error)) refuseModules(module);
  throw syntaxErrorOf(typed, "A helper is a script of declarations: functions, classes, constants; no await.");
}

/** Returns what acorn reads, or why it cannot. */
function read(source: string, sourceType: "script" | "module"): Program | Error {
  try {
    return parse(source, { ecmaVersion: "latest", sourceType, locations: true });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
