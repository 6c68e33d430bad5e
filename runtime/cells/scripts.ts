import { CellSyntaxError } from "./checks.ts";
import { HELPER_PREFIX, type HelperScript, transformHelper } from "./helper-script.ts";
import { WRAPPER } from "./traceback.ts";
import { type CellScript, transformCell } from "./transform.ts";

/**
 * The scripts that a guest has run, kept to put columns of tracebacks back where their author wrote them. The `filename` of a
 * script is its name in tracebacks: `<cell 3>`, `<helper utils>`.
 */
export type Scripts = ReturnType<typeof openScripts>;

/** The parts of a cell that tracebacks need. */
type KeptCell = Pick<CellScript, "columnOf" | "code">;

/** Functions of older cells stay callable, but tracebacks then show columns of the rewritten lines. */
const CELLS_KEPT = 200;

/**
 * @param names of builtins, for cells of the host's own
 * @param isTaken true if the engine takes a source as a cell
 */
export function openScripts(
  reserved: ReadonlySet<string>,
  names: readonly string[] = [...reserved],
  isTaken: (source: string) => boolean = () => false,
) {
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
    /** @param kept names of builtins that this cell, too, may not declare @throws CellSyntaxError */
    cell(number: number, source: string, kept: readonly string[] = []) {
      const filename = cellName(number);
      const names = kept.length === 0 ? reserved : new Set([...reserved, ...kept]);
      const script = transformCell(source, names, isTaken);
      keep(filename, () => script);
      return { ...script, filename };
    },
    /** A cell of the host's own. It gets builtins as parameters, so it does not matter what a guest has by their names. */
    own(source: string) {
      return { source: `(async function ${WRAPPER}({ ${names.join(", ")} }) {${source}\n})`, filename: cellName(0) };
    },
    /** Notes a cell that has run already, in this process or another. Its columns are worked out when a traceback needs them. */
    remember(number: number, source: string): void {
      const filename = cellName(number);
      keep(filename, () => {
        const cell = ranCell(source, () => transformCell(source, reserved, isTaken));
        keep(filename, () => cell);
        return cell;
      });
    },
    /** @throws CellSyntaxError */
    helper(name: string, source: string) {
      const script = helpers.get(source) ?? transformHelper(source, reserved);
      helpers.set(source, script);
      const filename = `<helper ${name}>`;
      helperCode.set(filename, script.code);
      return { ...script, filename };
    },
    /** The JavaScript of a script that has run, each token where its author wrote it. */
    codeOf: (file: string): string | undefined => helperCode.get(file) ?? cells.get(file)?.().code,
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
