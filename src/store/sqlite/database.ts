import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { Row } from "../rows/seal.ts";
import { type Answer, type Asked, type Plan, rendered, SQLITE } from "../sql/sql.ts";

/** A connection that keeps its statements, and whose transactions end whatever happens. */
export interface Database {
  /** Folder of the store; null: it is in memory. */
  readonly folder: string | null;
  perform<T>(plan: Plan<T>): T;
  get(sql: string, ...values: SQLInputValue[]): Row | undefined;
  all(sql: string, ...values: SQLInputValue[]): Row[];
  /** Rows one at a time: for tables that are larger than memory. Nothing may be written meanwhile. */
  each(sql: string, ...values: SQLInputValue[]): Iterable<Row>;
  /** Returns how many rows changed. */
  run(sql: string, ...values: SQLInputValue[]): number;
  exec(sql: string): void;
  /** Everything that `work` reads is of one moment. */
  read<T>(work: () => T): T;
  /** Everything that `work` writes is on disk when this returns. If it throws, nothing is kept. */
  write<T>(work: () => T): T;
  close(): void;
}

export function connect(folder: string | null, connection: DatabaseSync): Database {
  const statements = new Map<string, StatementSync>();
  function statement(sql: string): StatementSync {
    const known = statements.get(sql) ?? connection.prepare(sql);
    statements.set(sql, known);
    return known;
  }
  function transaction<T>(begin: string, work: () => T): T {
    statement(begin).run();
    try {
      const done = work();
      statement("COMMIT").run();
      return done;
    } catch (error) {
      rollBack(connection);
      throw error;
    }
  }
  function answered({ wants, statement: asked }: Asked): Answer {
    const { text, values } = rendered(asked, SQLITE);
    try {
      if (wants === "changes") return { rows: [], changes: Number(statement(text).run(...values).changes) };
      if (wants === "all") return { rows: statement(text).all(...values), changes: 0 };
      const row = statement(text).get(...values);
      return { rows: row ? [row] : [], changes: 0 };
    } catch (cause) {
      return { text, cause };
    }
  }
  return {
    folder,
    perform(plan) {
      let step = plan.next();
      while (!step.done) step = plan.next(answered(step.value));
      return step.value;
    },
    get: (sql, ...values) => statement(sql).get(...values),
    all: (sql, ...values) => statement(sql).all(...values),
    each: (sql, ...values) => connection.prepare(sql).iterate(...values),
    run: (sql, ...values) => Number(statement(sql).run(...values).changes),
    exec: (sql) => connection.exec(sql),
    read: (work) => transaction("BEGIN", work),
    write: (work) => transaction("BEGIN IMMEDIATE", work),
    close() {
      statements.clear();
      if (connection.isOpen) connection.close();
    },
  };
}

/** SQLite itself ends the transaction after some errors (disk full, I/O). The error that led here is the one to tell. */
function rollBack(connection: DatabaseSync): void {
  try {
    if (connection.isTransaction) connection.exec("ROLLBACK");
  } catch {}
}
