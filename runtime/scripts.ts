import type { ColumnMap } from "./traceback.ts";
import { type CellScript, type HelperScript, transformCell, transformHelper } from "./transform.ts";

interface Script {
  readonly source: string;
  /** As tracebacks name it: `<cell 3>`, `<helper utils>`. */
  readonly filename: string;
}

/** The scripts that a guest has run, kept to put columns of tracebacks back where their author wrote them. */
export interface Scripts {
  /** @throws CellSyntaxError */
  cell(number: number, source: string): Script & Pick<CellScript, "completion">;
  /** @throws CellSyntaxError */
  helper(name: string, source: string): Script;
  readonly columnOf: ColumnMap;
}

/** Functions of older cells stay callable; the columns of cells beyond these are those of the rewritten line. */
const CELLS_KEPT = 200;

export function openScripts(reserved: ReadonlySet<string>): Scripts {
  const columns = new Map<string, (line: number, column: number) => number>();
  const cells: string[] = [];
  const helpers = new Map<string, HelperScript>();
  return {
    cell(number, source) {
      const filename = number === 0 ? "<query>" : `<cell ${number}>`;
      const script = transformCell(source, reserved);
      if (script.source !== source) {
        columns.set(filename, script.columnOf);
        cells.push(filename);
        if (cells.length > CELLS_KEPT) columns.delete(cells.shift() ?? "");
      }
      return { source: script.source, filename, completion: script.completion };
    },
    helper(name, source) {
      const filename = `<helper ${name}>`;
      const script = helpers.get(source) ?? transformHelper(source, reserved);
      helpers.set(source, script);
      columns.set(filename, (line, column) => (line === 1 ? column - script.prefix : column));
      return { source: script.source, filename };
    },
    columnOf: (file, line, column) => Math.max(1, columns.get(file)?.(line, column) ?? column),
  };
}
