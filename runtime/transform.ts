import type { Node, Program } from "acorn";
import { parse, parseExpressionAt } from "acorn";
import { boundNames, findImport, findOuterReturn, hoistedVarNames } from "./declarations.ts";
import { RlmError } from "./errors.ts";

/**
 * A cell as the engine runs it: a global script with top-level await, in which top-level `const`, `let` and `class`
 * have become `var`, since a global lexical name can be declared only once in the life of a guest. Line numbers stay;
 * columns moved by a rewrite are mapped back by `columnOf`.
 */
export interface CellScript {
  readonly source: string;
  /** Whether the cell ends in an expression statement, whose value is the cell's result if `result` is not set. */
  readonly completion: boolean;
  /** The column (1-based) in the cell of a column in `source`. */
  columnOf(line: number, column: number): number;
}

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
 * Rewrites a cell. Where acorn cannot read the source it is left as it is: the engine's own verdict counts.
 *
 * @param reserved names of builtins, which a cell may not declare
 * @throws CellSyntaxError for a top-level return, an import, a redeclared builtin
 */
export function transformCell(source: string, reserved: ReadonlySet<string>): CellScript {
  if (/^\s*```/.test(source)) {
    const suggestion = "Send the code alone, without the Markdown fence (```).";
    throw new CellSyntaxError("the cell begins with a Markdown fence", suggestion, { line: 1, column: 1 });
  }
  const literal = asObjectLiteral(source);
  if (literal) {
    refuseImports(literal);
    const edits = [insertion(0, "("), insertion(source.length, "\n)")];
    return { ...applyEdits(source, edits), completion: true };
  }
  const program = read(source, "script");
  if (!program) {
    const module = read(source, "module");
    if (module) refuseImports(module);
    return unchanged(source);
  }
  check(program, reserved);
  const last = program.body.at(-1);
  return {
    ...applyEdits(source, program.body.flatMap(rewrite)),
    completion: last?.type === "ExpressionStatement",
  };
}

/** A helper as the engine runs it: a function around it, whose value holds its top-level names, live. */
export interface HelperScript {
  readonly source: string;
}

/** Stands before a helper on its first line. */
export const HELPER_PREFIX = "(() => { ";

/** @throws CellSyntaxError as `transformCell`, and for anything that acorn cannot read (top-level await included) */
export function transformHelper(source: string, reserved: ReadonlySet<string>): HelperScript {
  let program: Program;
  try {
    program = parse(source, { ecmaVersion: "latest", sourceType: "script", locations: true });
  } catch (error) {
    throw syntaxErrorOf(error, "A helper is a script of declarations: functions, classes, constants; no await.");
  }
  check(program, reserved);
  const names = declaredNames(program);
  const accessors = names.map((name) => `get ${name}() { return ${name}; }`).join(", ");
  return { source: `${HELPER_PREFIX}${source}\n;return { ${accessors} }; })()` };
}

interface Edit {
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
}

const insertion = (at: number, insert: string): Edit => ({ at, remove: 0, insert });

const SYNTAX = {
  ecmaVersion: "latest",
  locations: true,
  allowAwaitOutsideFunction: true,
  allowReturnOutsideFunction: true,
  allowHashBang: true,
} as const;

/** `{ a: 1 }` alone is read as a block by the grammar and meant as an object: the rule of Node's REPL. */
function asObjectLiteral(source: string): Node | undefined {
  if (!/^\s*\{/.test(source) || /;\s*$/.test(source)) return undefined;
  try {
    const expression = parseExpressionAt(source, source.indexOf("{"), SYNTAX);
    const rest = read(source.slice(expression.end), "script");
    return rest?.body.length === 0 ? expression : undefined;
  } catch {
    return undefined;
  }
}

function read(source: string, sourceType: "script" | "module"): Program | undefined {
  try {
    return parse(source, { ...SYNTAX, sourceType });
  } catch {
    return undefined;
  }
}

/** What a cell gets wrong that the engine would say less clearly. */
function check(program: Program, reserved: ReadonlySet<string>): void {
  const returned = findOuterReturn(program);
  if (returned) {
    throw new CellSyntaxError(
      "return stands outside a function",
      "End the cell with an expression, or assign to result: `result = …`.",
      position(returned),
    );
  }
  refuseImports(program);
  for (const { name, node } of [...topLevelNames(program), ...hoistedVarNames(program)]) {
    if (!reserved.has(name)) continue;
    throw new CellSyntaxError(
      `${name} is a builtin and cannot be declared again`,
      `Choose another name, such as my_${name}.`,
      position(node),
    );
  }
}

function refuseImports(program: Node): void {
  const imported = findImport(program);
  if (!imported) return;
  throw new CellSyntaxError(
    "import is not available in a cell",
    "There are no modules here; the builtins are global: peek, find, search, memory, ….",
    position(imported),
    "sandbox_violation",
  );
}

const position = (node: Node) => ({ line: node.loc?.start.line ?? 1, column: (node.loc?.start.column ?? 0) + 1 });

function* topLevelNames(program: Program): Iterable<{ name: string; node: Node }> {
  for (const statement of program.body) {
    if (statement.type === "VariableDeclaration") {
      for (const declarator of statement.declarations) {
        for (const name of boundNames(declarator.id)) yield { name, node: declarator };
      }
    } else if (statement.type === "FunctionDeclaration" || statement.type === "ClassDeclaration") {
      yield { name: statement.id.name, node: statement };
    }
  }
}

function declaredNames(program: Program): string[] {
  const names = [...topLevelNames(program), ...hoistedVarNames(program)].map(({ name }) => name);
  return [...new Set(names)];
}

/** The edits that turn one top-level statement into one that can be run again under the same names. */
function rewrite(statement: Program["body"][number]): Edit[] {
  if (statement.type === "ClassDeclaration") {
    const name = statement.id.name;
    return [insertion(statement.start, `var ${name}=`), insertion(statement.end, ";")];
  }
  if (statement.type !== "VariableDeclaration" || statement.kind === "var") return [];
  if (statement.kind !== "let" && statement.kind !== "const") return [];
  const keyword = statement.kind;
  const edits: Edit[] = [{ at: statement.start, remove: keyword.length, insert: "var".padEnd(keyword.length) }];
  for (const declarator of statement.declarations) {
    if (declarator.init) continue;
    // A `var` without a value would keep what an earlier cell left there. Where the line's end closed the statement,
    // the value must not run into the next line.
    const closes = declarator.end === statement.end;
    edits.push(insertion(declarator.end, closes ? "=void 0;" : "=void 0"));
  }
  return edits;
}

function applyEdits(source: string, edits: readonly Edit[]): Pick<CellScript, "source" | "columnOf"> {
  let output = "";
  let from = 0;
  for (const edit of edits) {
    output += source.slice(from, edit.at) + edit.insert;
    from = edit.at + edit.remove;
  }
  output += source.slice(from);
  return {
    source: output,
    columnOf(line, column) {
      const lineStart = startOfLine(source, line);
      let shift = 0;
      for (const edit of edits) {
        if (edit.at < lineStart) continue;
        const editColumn = edit.at - lineStart + shift;
        if (editColumn >= column - 1) break;
        const grown = edit.insert.length - edit.remove;
        if (column - 1 < editColumn + edit.insert.length && grown > 0) return edit.at - lineStart + 1;
        shift += grown;
      }
      return column - shift;
    },
  };
}

function startOfLine(source: string, line: number): number {
  let at = 0;
  for (let current = 1; current < line; current++) {
    const next = source.indexOf("\n", at);
    if (next < 0) break;
    at = next + 1;
  }
  return at;
}

function unchanged(source: string): CellScript {
  return { source, completion: true, columnOf: (_line, column) => column };
}

function syntaxErrorOf(error: unknown, suggestion: string): unknown {
  if (!(error instanceof SyntaxError) || !("loc" in error)) return error;
  const loc = error.loc;
  const at =
    typeof loc === "object" && loc !== null && "line" in loc && "column" in loc
      ? { line: Number(loc.line), column: Number(loc.column) + 1 }
      : { line: 1, column: 1 };
  return new CellSyntaxError(error.message.replace(/ \(\d+:\d+\)$/, ""), suggestion, at);
}
