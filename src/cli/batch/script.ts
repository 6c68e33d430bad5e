import { readCells } from "../input/cells.ts";

/** What each job runs. */
export interface Script {
  /** The file, for tracebacks. */
  readonly name: string;
  readonly source: string;
}

/** @throws UsageError, RlmError `source_too_large` */
export async function readScript(path: string, signal: AbortSignal): Promise<Script> {
  const [cell] = await readCells([{ option: null, value: path }], signal);
  return { name: path, source: cell?.source ?? "" };
}
