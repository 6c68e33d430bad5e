import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { Row } from "../rows/seal.ts";
import { type Answer, type Asked, type Plan, rendered, SQLITE } from "../sql/sql.ts";

export type Database = ReturnType<typeof connect>;

/** A connection that keeps its statements, and whose transactions end whatever happens. */
export function connect(connection: DatabaseSync) {
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
    perform<T>(plan: Plan<T>): T {
      let step = plan.next();
      while (!step.done) step = plan.next(answered(step.value));
      return step.value;
    },
    get: (sql: string, ...values: SQLInputValue[]): Row | undefined => statement(sql).get(...values),
    all: (sql: string, ...values: SQLInputValue[]): Row[] => statement(sql).all(...values),
    /** Returns how many rows changed. */
    run: (sql: string, ...values: SQLInputValue[]) => Number(statement(sql).run(...values).changes),
    exec: (sql: string) => connection.exec(sql),
    /** Everything that `work` reads is of one moment. */
    read: <T>(work: () => T): T =>
      connection.isTransaction ? work() : transaction(["BEGIN", "COMMIT", "ROLLBACK"], work),
    /** Keeps what `work` writes: it is on disk when this returns, or `together` around it. If that throws, it is gone, and `undone` is called. */
    write<T>(work: () => T, undone = () => {}): T {
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
    /**
     * Each `write` within `work` fails by itself, and the others come to the disk with one sync. If this throws, none is kept.
     * @param work learns from `isWriting` if something is written that is not on disk
     */
    together(work: (isWriting: () => boolean) => void): void {
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
    close(): void {
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
