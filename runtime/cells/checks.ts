import type { AnyNode, Node, Program } from "acorn";
import { RlmError } from "../errors.ts";
import { declaredNames, findForbiddenClass, findImport, findOuterReturn } from "./declarations.ts";

/** A mistake in a cell or helper, found before it runs: line and column are 1-based. */
export class CellSyntaxError extends RlmError {
  readonly line: number;
  readonly column: number;

  constructor(
    message: string,
    suggestion: string,
    at: { line: number; column: number },
    code: "js_error" | "sandbox_violation" = "js_error",
  ) {
    super(code, message, { suggestion, guestName: "SyntaxError" });
    this.line = at.line;
    this.column = at.column;
  }
}

/**
 * Refuses what the engine would refuse with a less clear message, and builtins that are declared.
 * @throws CellSyntaxError
 */
export function checkProgram(program: Program, reserved: ReadonlySet<string>): void {
  const returned = findOuterReturn(program);
  if (returned) throw outerReturn(position(returned));
  refuseModules(program);
  const named = findForbiddenClass(program);
  if (named) {
    const name = named.id?.name ?? "";
    throw new CellSyntaxError(`a class cannot be named ${name}`, "Choose another name.", position(named));
  }
  refuseNames(program, reserved, "is a builtin and cannot be declared again");
}

/** The error for a `return` outside every function. */
export function outerReturn(at: { line: number; column: number }): CellSyntaxError {
  const suggestion = "End the cell with an expression, or assign to result: `result = …`.";
  return new CellSyntaxError("return is not allowed outside a function", suggestion, at);
}

/**
 * Refuses the first declaration of a name that is taken. `why` follows the name in the message.
 * @throws CellSyntaxError
 */
export function refuseNames(program: Program, taken: ReadonlySet<string>, why: string): void {
  const found = declaredNames(program).find(({ name }) => taken.has(name));
  if (!found) return;
  const { name, node } = found;
  throw new CellSyntaxError(`${name} ${why}`, `Choose another name, such as my_${name}.`, position(node));
}

/** Refuses what only a module has. @throws CellSyntaxError `sandbox_violation` for an import */
export function refuseModules(program: AnyNode): void {
  const imported = findImport(program);
  if (imported) {
    const suggestion = "There are no modules here; the builtins are global: peek, find, search, memory, ….";
    throw new CellSyntaxError("import is not available in a cell", suggestion, position(imported), "sandbox_violation");
  }
  const exported = program.type === "Program" ? program.body.find(({ type }) => type.startsWith("Export")) : undefined;
  if (!exported) return;
  const suggestion = "There are no modules here: write the statements without export; their top-level names last.";
  throw new CellSyntaxError("export is not available in a cell", suggestion, position(exported));
}

/** The place at which a node begins: line and column are 1-based. */
const position = (node: Node) => ({
  line: node.loc?.start.line ?? 1,
  column: (node.loc?.start.column ?? 0) + 1,
});

/** The offset of a place in a source, UTF-16 units; line and column are 1-based. */
export function offsetOf(source: string, line: number, column: number): number {
  let start = 0;
  for (let current = 1; current < line; current++) start = source.indexOf("\n", start) + 1;
  return start + column - 1;
}

/** The mistake that acorn found, at its place. */
export function syntaxErrorOf(error: unknown, suggestion: string): unknown {
  if (!(error instanceof SyntaxError) || !("loc" in error)) return error;
  const { line = 1, column = 0 }: { readonly line?: number; readonly column?: number } = Object(error.loc);
  const message = error.message.replace(/ \(\d+:\d+\)$/, "");
  return new CellSyntaxError(message, suggestion, { line, column: column + 1 });
}
