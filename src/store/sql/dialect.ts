import type { JobKey } from "../job-store.ts";
import type { Row } from "../rows/row.ts";
import type { Part, Plan, Statement } from "./sql.ts";

/** The part of shared plans that each kind of database does in its own way. */
export interface Dialect {
  /** The clock of the store, ms since the epoch. */
  readonly now: Part;
  /** The folder in which texts of large contexts lie; null: the store keeps none. */
  readonly texts: string | null;
  /** True if a process has the session of this row, which has its id and `BUSY`. */
  busy(session: Row): boolean;
  /**
   * Drops leases of sessions that are dropped. Absent: those of a store in a folder are not rows.
   */
  dropLeases?(sessions: readonly string[]): Plan<void>;
  /** The number of processes that hold sessions of jobs of the run. */
  workers(run: string): Plan<number>;
  /**
   * Selects a row if this store has the lease of the account, with this fence. Nobody else takes it
   * within the transaction.
   */
  holding(account: string, fence: number): Statement;
  /**
   * Changes the job. If it is changed, amounts that earlier tries held become doubtful; those of
   * requests by batch do only if it has ended.
   */
  doubting(update: Statement, job: JobKey, isOver: boolean): Plan<boolean>;
  /** Drops a checkpoint that no session reaches, and the bases that only it needed. */
  dropUnneeded(checkpoint: string): Plan<unknown>;
  /** Seals a job that has become final. Absent: a server does so by itself. */
  seal?(job: JobKey): Plan<void>;
  /** Findings of the database's own check. Absent: a server checks its files by itself. */
  file?(): Plan<readonly string[]>;
  /** The finding that an error is. Throws the error if it is none. */
  messageOf(error: unknown): string;
}
