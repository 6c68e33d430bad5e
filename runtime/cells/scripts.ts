import { type Expression, type Program, parse, parseExpressionAt } from "acorn";
import { CellSyntaxError, checkProgram, refuseModules, syntaxErrorOf } from "./checks.ts";
import { declaredNames, outerContinues } from "./declarations.ts";
import { HELPER_PREFIX, type HelperScript, transformHelper } from "./helper-script.ts";
import { WRAPPER } from "./traceback.ts";
import { isScriptMistake, withoutTypes } from "./typescript.ts";

/**
 * The scripts that a guest has run, kept to put columns of tracebacks back where their author wrote
 * them. The `filename` of a script is its name in tracebacks: `<cell 3>`, `<helper utils>`.
 */
export interface Scripts {
  /**
   * Rewrites a cell, and keeps it for tracebacks.
   *
   * @param kept names of builtins that this cell, too, may not declare
   * @throws CellSyntaxError
   */
  cell(number: number, source: string, kept?: readonly string[]): Named<CellScript>;
  /**
   * A cell of the host's own. It gets builtins as parameters, so it does not matter what a guest
   * has by their names.
   */
  own(source: string): Named<{ readonly source: string }>;
  /**
   * Notes a cell that has run already, in this process or another. Its columns are worked out when
   * a traceback needs them.
   */
  remember(number: number, source: string): void;
  /** Prepares a helper. @throws CellSyntaxError */
  helper(name: string, source: string): Named<HelperScript>;
  /** The JavaScript of a script that has run, each token where its author wrote it. */
  codeOf(file: string): string | undefined;
  /** The column (1-based) that its author wrote for a column of a script that has run. */
  columnOf(file: string, line: number, column: number): number;
}

/** A script with its name in tracebacks. */
type Named<Script> = Script & { readonly filename: string };

/** The parts of a cell that tracebacks need. */
type KeptCell = Pick<CellScript, "columnOf" | "code">;

/**
 * Functions of older cells stay callable, but tracebacks then show columns of the rewritten lines.
 */
const CELLS_KEPT = 200;

/**
 * @param names of builtins, for cells of the host's own
 * @param isTaken true if the engine takes a source as a cell
 */
export function openScripts(
  reserved: ReadonlySet<string>,
  names: readonly string[] = [...reserved],
  isTaken: (source: string) => boolean = () => false,
): Scripts {
  const cells = new Map<string, () => KeptCell>();
  const helpers = new Map<string, HelperScript>();
  /** The JavaScript of helpers, by the names of their scripts. */
  const helperCode = new Map<string, string>();

  function keep(filename: string, cell: () => KeptCell): void {
    cells.delete(filename);
    cells.set(filename, cell);
    const [oldest] = cells.keys();
    if (cells.size > CELLS_KEPT && oldest !== undefined) cells.delete(oldest);
  }

  return {
    cell(number: number, source: string, kept: readonly string[] = []) {
      const filename = cellName(number);
      const names = kept.length === 0 ? reserved : new Set([...reserved, ...kept]);
      const script = transformOnce(source, names, isTaken);
      keep(filename, () => script);
      return { ...script, filename };
    },
    own(source: string) {
      return { source: `(async function ${WRAPPER}({ ${names.join(", ")} }) {${source}\n})`, filename: cellName(0) };
    },
    remember(number: number, source: string): void {
      const filename = cellName(number);
      keep(filename, () => {
        const cell = ranCell(source, () => transformCell(source, reserved, isTaken));
        keep(filename, () => cell);
        return cell;
      });
    },
    helper(name: string, source: string) {
      const script = helpers.get(source) ?? transformHelper(source, reserved);
      helpers.set(source, script);
      const filename = `<helper ${name}>`;
      helperCode.set(filename, script.code);
      return { ...script, filename };
    },
    codeOf: (file) => helperCode.get(file) ?? cells.get(file)?.().code,
    columnOf(file: string, line: number, column: number): number {
      if (file.startsWith("<helper ")) return line === 1 ? Math.max(1, column - HELPER_PREFIX.length) : column;
      return Math.max(1, cells.get(file)?.().columnOf(line, column) ?? column);
    },
  };
}

const cellName = (number: number) => (number === 0 ? "<query>" : `<cell ${number}>`);

/** A cell that has run: an earlier build may have run what this one refuses, as it was. */
function ranCell(source: string, transformed: () => CellScript): KeptCell {
  try {
    return transformed();
  } catch (error) {
    if (!(error instanceof CellSyntaxError)) throw error;
    return { code: source, columnOf: (_line, column) => column };
  }
}

/**
 * A cell as the engine runs it: a global script with top-level await. Its top-level `const`, `let`
 * and `class` have become `var`, since a guest can declare a global lexical name only once. Line
 * numbers stay; columns moved by a rewrite are mapped back by `columnOf`.
 */
interface CellScript {
  readonly source: string;
  /** The cell as JavaScript, each token where its author wrote it. */
  readonly code: string;
  /**
   * True if the cell ends in an expression statement. Its value is the cell's result if `result` is
   * not set.
   */
  readonly completion: boolean;
  /** Names that the cell declares at its top level; none if acorn cannot read the cell. */
  readonly declared: readonly string[];
  /** True if the cell is TypeScript, and its types were taken out. */
  readonly isTypeScript: boolean;
  /** Returns the column (1-based) in the cell for a column in `source`. */
  columnOf(line: number, column: number): number;
}

/**
 * Rewrites a cell. TypeScript loses its types. What neither acorn nor the engine takes is left as
 * it is, and the engine says what is wrong.
 *
 * @param reserved names of builtins, which a cell may not declare
 * @param isTaken true if the engine takes a source as a cell, although acorn does not
 * @throws CellSyntaxError for a top-level return, an import, a redeclared builtin, TypeScript that
 * is more than types
 */
export function transformCell(
  source: string,
  reserved: ReadonlySet<string>,
  isTaken: (source: string) => boolean = () => false,
): CellScript {
  if (/^\s*`{3,}[^`]/.test(source)) {
    const suggestion = "Send the code alone, without the Markdown fence (```).";
    throw new CellSyntaxError("the cell begins with a Markdown fence", suggestion, { line: 1, column: 1 });
  }
  const script = readCell(source);
  if (!(script instanceof Error)) return rewritten(source, script, reserved);
  const typeless = isScriptMistake(script) && !isTaken(source) ? withoutTypes(source, script) : null;
  const typed = typeless === null ? script : readCell(typeless);
  if (typeless === null || typed instanceof Error) return unread(source);
  return { ...rewritten(typeless, typed, reserved), isTypeScript: true };
}

/** The cell that was rewritten last in this thread. */
let newest: { readonly source: string; readonly reserved: string; readonly script: CellScript } | undefined;

/**
 * Rewrites a cell, unless it is the one that was rewritten last: all jobs of a run have the same
 * script, and to read 6 KB of it takes 2 ms.
 */
function transformOnce(source: string, names: ReadonlySet<string>, isTaken: (source: string) => boolean): CellScript {
  const reserved = [...names].join();
  if (newest?.source === source && newest.reserved === reserved) return newest.script;
  const script = transformCell(source, names, isTaken);
  newest = { source, reserved, script };
  return script;
}

/** A cell whose source is left as it is. */
function unread(source: string): CellScript {
  const columnOf = (_line: number, column: number) => column;
  return { source, code: source, completion: true, declared: [], isTypeScript: false, columnOf };
}

/**
 * Returns the program that a cell is, the object literal, or why it cannot be read.
 *
 * @throws CellSyntaxError for an import or export, and for a mistake that the engine takes
 */
function readCell(source: string): Program | Expression | Error {
  const literal = asObjectLiteral(source);
  if (literal) return literal;
  const program = read(source, "script");
  if ("body" in program) return program;
  const module = read(source, "module");
  if ("body" in module) refuseModules(module);
  if (ENGINE_TAKES.test(program.message)) {
    throw syntaxErrorOf(program, "Declare the name once, or choose another one.");
  }
  return program;
}

/** The cell with its top-level names made to last. */
function rewritten(source: string, script: Program | Expression, reserved: ReadonlySet<string>): CellScript {
  if (script.type !== "Program") {
    refuseModules(script);
    const edits = [insertion(0, "("), insertion(source.length, "\n)")];
    return { ...applyEdits(source, edits), code: source, completion: true, declared: [], isTypeScript: false };
  }
  checkProgram(script, reserved);
  const edits = [...script.body.flatMap(rewrite), ...relabel(script, source)].toSorted(byPlace);
  return {
    ...applyEdits(source, edits),
    code: source,
    completion: script.body.at(-1)?.type === "ExpressionStatement",
    declared: declaredNames(script).map(({ name }) => name),
    isTypeScript: false,
  };
}

/** Mistakes that the engine does not always see: `([a]) => { let a }`, `class eval {}`. */
const ENGINE_TAKES = /has already been declared|^Binding (?:eval|arguments) in strict mode/;

interface Edit {
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
}

const byPlace = (one: Edit, other: Edit) => one.at - other.at;
const insertion = (at: number, insert: string): Edit => ({ at, remove: 0, insert });

const SYNTAX = {
  ecmaVersion: "latest",
  locations: true,
  allowAwaitOutsideFunction: true,
  allowReturnOutsideFunction: true,
  allowHashBang: true,
} as const;

/**
 * The grammar reads `{ a: 1 }` alone as a block, but an object is meant. Node's REPL has the same
 * rule.
 */
function asObjectLiteral(source: string): Expression | undefined {
  if (!/^\s*\{/.test(source) || /;\s*$/.test(source)) return undefined;
  try {
    const expression = parseExpressionAt(source, source.indexOf("{"), SYNTAX);
    const rest = read(source.slice(expression.end), "script");
    return "body" in rest && rest.body.length === 0 ? expression : undefined;
  } catch {
    return undefined;
  }
}

/** Returns what acorn reads, or why it cannot. */
function read(source: string, sourceType: "script" | "module"): Program | Error {
  try {
    return parse(source, { ...SYNTAX, sourceType });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Returns the edits that have each `continue` name the innermost label of its loop. */
function relabel(program: Program, source: string): Edit[] {
  if (!source.includes("continue")) return [];
  return Array.from(outerContinues(program), ({ label: { start, end }, innermost }) => {
    return { at: start, remove: end - start, insert: innermost };
  });
}

/**
 * Returns the edits that turn a top-level statement into one that can run again under the same
 * names.
 */
function rewrite(statement: Program["body"][number]): Edit[] {
  if (statement.type === "ClassDeclaration") {
    const name = statement.id.name;
    return [insertion(statement.start, `var ${name}=`), insertion(statement.end, ";")];
  }
  if (statement.type !== "VariableDeclaration") return [];
  const keyword = statement.kind;
  if (keyword !== "let" && keyword !== "const") return [];
  const edits: Edit[] = [{ at: statement.start, remove: keyword.length, insert: "var".padEnd(keyword.length) }];
  for (const declarator of statement.declarations) {
    if (declarator.init) continue;
    // A `var` without a value would keep what an earlier cell left there. If the line's end closed
    // the statement, the value must not run into the next line.
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
