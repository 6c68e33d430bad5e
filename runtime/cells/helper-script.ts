import { type Program, parse } from "acorn";

import { checkProgram, refuseModules, refuseNames, syntaxErrorOf } from "./checks.ts";
import { declaredNames } from "./declarations.ts";
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

/** Globals of the language as the engine has them. */
export const LANGUAGE_NAMES: readonly string[] =
  "AggregateError Array ArrayBuffer AsyncDisposableStack BigInt BigInt64Array BigUint64Array Boolean DOMException DataView Date DisposableStack Error EvalError FinalizationRegistry Float16Array Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array InternalError Iterator JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set SharedArrayBuffer String SuppressedError Symbol SyntaxError TextDecoder TextEncoder TypeError URIError URL URLSearchParams Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet atob btoa decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval globalThis isFinite isNaN parseFloat parseInt performance queueMicrotask structuredClone undefined unescape".split(
    " ",
  );

/**
 * Names that belong to the machine: a helper cannot have one, nor declare it for every later cell.
 */
export const OWNED_NAMES: ReadonlySet<string> = new Set([...LANGUAGE_NAMES, "result", "result_meta"]);
