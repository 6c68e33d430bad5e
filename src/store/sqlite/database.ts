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
  /** Returns how many rows changed. */
  run(sql: string, ...values: SQLInputValue[]): number;
  exec(sql: string): void;
  /** Everything that `work` reads is of one moment. */
  read<T>(work: () => T): T;
  /** Keeps what `work` writes: it is on disk when this returns, or `together` around it. If that throws, it is gone, and `undone` is called. */
  write<T>(work: () => T, undone?: () => void): T;
  /**
   * Each `write` within `work` fails by itself, and the others come to the disk with one sync. If this throws, none is kept.
   * @param work learns from `isWriting` if something is written that is not on disk
   */
  together(work: (isWriting: () => boolean) => void): void;
  close(): void;
}

export function connect(folder: string | null, connection: DatabaseSync): Database {
  const statements = new Map<string, StatementSync>();
  function statement(sql: string): StatementSync {
    const known = statements.get(sql) ?? connection.prepare(sql);
    statements.set(sql, known);
    return known;
  }
  /** Undoes the writes that are kept together; null: each is kept alone. */
  let undo: (() => void)[] | null = null;
  /** The error with which SQLite has ended their transaction. */
  let lost: unknown;
  function transaction<T>([begin, end, back]: readonly [string, string | null, string], work: () => T): T {
    statement(begin).run();
    try {
      const done = work();
      if (end !== null) statement(end).run();
      return done;
    } catch (error) {
      rollBack(connection, back);
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
    run: (sql, ...values) => Number(statement(sql).run(...values).changes),
    exec: (sql) => connection.exec(sql),
    read: (work) => (connection.isTransaction ? work() : transaction(["BEGIN", "COMMIT", "ROLLBACK"], work)),
    write(work, undone = () => {}) {
      const isPart = connection.isTransaction;
      try {
        const done = transaction(isPart ? PART : ["BEGIN IMMEDIATE", undo ? null : "COMMIT", "ROLLBACK"], work);
        undo?.push(undone);
        return done;
      } catch (error) {
        undone();
        if (isPart && !connection.isTransaction) lost ??= error;
        throw error;
      }
    },
    together(work) {
      undo = [];
      try {
        work(() => connection.isTransaction);
        if (lost !== undefined) throw lost;
        if (connection.isTransaction) statement("COMMIT").run();
      } catch (error) {
        rollBack(connection, "ROLLBACK");
        for (const undone of undo.reverse()) undone();
        throw error;
      } finally {
        undo = null;
        lost = undefined;
      }
    },
    close() {
      statements.clear();
      if (connection.isOpen) connection.close();
    },
  };
}

const PART = ["SAVEPOINT part", "RELEASE part", "ROLLBACK TO part; RELEASE part"] as const;

/** SQLite itself ends the transaction after some errors (disk full, I/O). The error that led here is the one to tell. */
function rollBack(connection: DatabaseSync, how: string): void {
  try {
    if (connection.isTransaction) connection.exec(how);
  } catch {}
}
