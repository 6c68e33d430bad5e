import { noRoom, readThrown } from "../ends.ts";
import { RlmError } from "../errors.ts";
import type { Guest } from "../guest.ts";
import { suggestionFor } from "../suggestions.ts";
import { CellSyntaxError } from "./checks.ts";
import { checkHelperNames, type HelperScript, OWNED_NAMES } from "./helper-script.ts";
import { guestError } from "./traceback.ts";

interface Parts extends Pick<Guest, "scripts" | "engine"> {
  readonly reserved: ReadonlySet<string>;
}

/**
 * Checks a new helper.
 *
 * @throws RlmError `policy_violation` for its name; for its source a SyntaxError for the guest,
 * with line, column and the line
 */
export function checkHelper(name: string, source: string, parts: Parts): HelperScript {
  checkName(name, parts.reserved);
  try {
    checkHelperNames(source);
    return compile(name, source, parts);
  } catch (error) {
    if (!(error instanceof CellSyntaxError)) throw error;
    const { line, column, code, message, suggestion } = error;
    const at = `helper ${name}, line ${line}, column ${column}`;
    const shown = lineAround(source.split("\n")[line - 1] ?? "", column);
    throw new RlmError(code, `${at}: ${message}, in \`${shown}\``, {
      suggestion,
      guestName: "SyntaxError",
      cause: error,
    });
  }
}

function checkName(name: string, reserved: ReadonlySet<string>): void {
  const whose = reserved.has(name) ? "a builtin" : OWNED_NAMES.has(name) ? "a global of the machine" : undefined;
  if (!whose) return;
  throw new RlmError("policy_violation", `helpers.add: ${name} is the name of ${whose}`, {
    suggestion: "Choose another name for the helper.",
  });
}

/**
 * Compiles the helper, since the engine refuses some of what acorn accepts.
 *
 * @throws CellSyntaxError
 */
function compile(name: string, source: string, { scripts, engine }: Parts): HelperScript {
  const script = scripts.helper(name, source);
  const compiled = engine.compile(script.source, script.filename);
  if (compiled.ok) return script;
  const { message, line, column } = guestError(readThrown(compiled), scripts.columnOf);
  if (message === "out of memory") throw noRoom(`the helper ${name}`);
  const suggestion = suggestionFor("SyntaxError", message, source);
  throw new CellSyntaxError(message, suggestion, { line: line ?? 1, column: column ?? 1 });
}

/** Cuts a line to what is around a column (1-based). */
function lineAround(line: string, column: number): string {
  const from = Math.max(0, Math.min(column - 1 - SHOWN_UNITS / 2, line.length - SHOWN_UNITS));
  const to = from + SHOWN_UNITS;
  return `${from > 0 ? "…" : ""}${line.slice(from, to).trim()}${to < line.length ? "…" : ""}`;
}

const SHOWN_UNITS = 100;
