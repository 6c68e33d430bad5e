import type { ExecRecords } from "./exec-records.ts";
import { subCallsOf } from "./ledger.ts";

/** The results of the answered sub-calls of some execs. */
export interface CallTree {
  /** Sub-calls of the execs and of all children below. */
  readonly sub_calls: number;
  /** Children of the execs themselves. */
  readonly children: number;
  /** Depth of the deepest session that was reached. */
  readonly depth_reached: number;
}

/** @param depth of the session that ran the execs */
export function treeOf(execs: readonly Pick<ExecRecords, "results">[], depth: number): CallTree {
  const results = execs.flatMap((exec) => exec.results);
  const children = results.flatMap(({ child }) => (child ? [child] : []));
  return {
    sub_calls: results.reduce((sum, result) => sum + subCallsOf(result), 0),
    children: children.length,
    depth_reached: children.reduce((deepest, { depth_reached }) => Math.max(deepest, depth_reached), depth),
  };
}
