import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setImmediate, setTimeout } from "node:timers/promises";
import { monotonicMs } from "../../../runtime/index.ts";
import { isBusy, isOutOfRange } from "../failure.ts";
import type { Field, Row } from "../rows/row.ts";
import { type Answer, type Asked, NO_ROWS, type Plan, rendered, SQLITE, type Value } from "../sql/sql.ts";
import type { Log } from "./log.ts";

/**
 * A connection that keeps its statements, and whose transactions end whatever happens. One caller
 * at a time uses it.
 */
export interface Database {
  /**
   * Begins a turn of the thread that the store has for itself. A plan that takes longer lets the
   * thread do other work.
   */
  beginTurn(): void;
  /** Lets the thread do other work if the turn has been long. */
  endLongTurn(): Promise<void>;
  perform<T>(plan: Plan<T>): Promise<T>;
  /** Everything that `work` reads is of one moment. */
  read<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Keeps what `work` writes: it is on disk when this resolves, or `together` around it. If that
   * rejects, it is gone, and `undone` is called.
   *
   * @param mayWait true if the disk may get it with the next write that may not wait
   */
  write<T>(work: () => Promise<T>, undone?: () => void, mayWait?: boolean): Promise<T>;
  /** Undoes all that `work` writes once it has ended. */
  tryOut<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Each `write` within `work` fails by itself, and the others come to the disk with one sync. If
   * this rejects, none is kept.
   * @param work learns from `isWriting` if something is written that is not on disk
   */
  together(work: (isWriting: () => boolean) => Promise<void>): Promise<void>;
  /** Carries out a statement without an answer. While another process writes, it is asked again. */
  exec(sql: string): Promise<void>;
  /**
   * Moves all pages of the log into the database, as far as no reader needs them, and cuts the log
   * off.
   */
  emptyLog(): Promise<void>;
  close(): Promise<void>;
}

/** @param log null: in memory */
export function connect(connection: DatabaseSync, log: Log | null): Database {
  // While another process writes SQLite would hold the thread. Statements are asked again instead.
  connection.exec("PRAGMA busy_timeout = 0");
  const statements = openStatements(connection);
  const turn = openTurn();

  /** Ends the transaction. What it has written is on disk when this resolves, unless it may wait. */
  async function commit(mayWait: boolean): Promise<void> {
    statements.run("COMMIT");
    const bytes = statements.takeWritten();
    if (bytes === 0 || !log) return;
    if (!mayWait) await log.flush();
    log.grown(bytes);
  }

  return {
    ...openTransactions(connection, statements, { commit, check: () => log?.check() }),
    beginTurn: turn.begin,
    endLongTurn: turn.endIfLong,
    async perform(plan) {
      let step = plan.next();
      while (!step.done) {
        const asked = step.value;
        if (asked.wants === "end") await asked.of;
        let answer = statements.answer(asked);
        if ("cause" in answer && isBusy(answer.cause)) answer = await answeredPatiently(() => statements.answer(asked));
        if (turn.isLong()) await turn.endIfLong();
        step = plan.next(answer);
      }
      return step.value;
    },
    exec: (sql) => patiently(() => connection.exec(sql)),
    async emptyLog() {
      await log?.empty();
      connection.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    },
    async close() {
      await log?.close();
      statements.forget();
      if (connection.isOpen) connection.close();
    },
  };
}

interface Committing {
  /** Ends a transaction. What it has written is on disk when this resolves, unless it may wait. */
  commit(mayWait: boolean): Promise<void>;
  /** Throws if nothing can be written any more. */
  check(): void;
}

function openTransactions(
  connection: DatabaseSync,
  statements: Statements,
  { commit, check }: Committing,
): Pick<Database, "read" | "write" | "tryOut" | "together"> {
  /** Undoes the writes that are kept together; null: each is kept alone. */
  let undo: (() => void)[] | null = null;
  /** True if none of them must be on disk. */
  let allMayWait = true;
  /** The error with which SQLite has ended their transaction. */
  let lost: unknown;

  async function transaction<T>({ begin, end, back }: Bounds, work: () => Promise<T>, mayWait = false): Promise<T> {
    await patiently(() => statements.run(begin));
    try {
      const done = await work();
      if (end === "COMMIT") await commit(mayWait);
      else if (end !== null) statements.run(end);
      return done;
    } catch (error) {
      rollBack(connection, back);
      throw error;
    }
  }

  return {
    read: async (work) => (connection.isTransaction ? work() : transaction(READ, work)),
    async write(work, undone = () => {}, mayWait = false) {
      const isPart = connection.isTransaction;
      try {
        check();
        const done = await transaction(isPart ? PART : undo ? FIRST : ALONE, work, mayWait);
        undo?.push(undone);
        allMayWait &&= mayWait;
        return done;
      } catch (error) {
        undone();
        if (isPart && !connection.isTransaction) lost ??= error;
        throw error;
      }
    },
    async tryOut(work) {
      await patiently(() => statements.run(ALONE.begin));
      try {
        return await work();
      } finally {
        rollBack(connection, ALONE.back);
      }
    },
    async together(work) {
      undo = [];
      allMayWait = true;
      try {
        await work(() => connection.isTransaction);
        if (lost !== undefined) throw lost;
        if (connection.isTransaction) await commit(allMayWait);
      } catch (error) {
        rollBack(connection, "ROLLBACK");
        for (const undone of undo.reverse()) undone();
        throw error;
      } finally {
        undo = null;
        lost = undefined;
      }
    },
  };
}

/**
 * The longest time for which a plan holds the thread, ms, unless one statement takes longer. A
 * screen is drawn every 16 ms.
 */
const TURN_MS = 8;

/** The store's turn in its thread. */
interface Turn {
  begin(): void;
  isLong(): boolean;
  /** Lets the thread do other work if the turn has been long, and begins another one. */
  endIfLong(): Promise<void>;
}

function openTurn(): Turn {
  let end = Number.POSITIVE_INFINITY;
  const begin = () => {
    end = monotonicMs() + TURN_MS;
  };
  const isLong = () => monotonicMs() > end;
  return {
    begin,
    isLong,
    async endIfLong() {
      if (!isLong()) return;
      await setImmediate();
      begin();
    },
  };
}

/** The statements of a connection, each prepared once. */
interface Statements {
  run(sql: string): void;
  answer(asked: Asked): Answer;
  /** Returns the bytes that statements have written since the last call, at the most. */
  takeWritten(): number;
  forget(): void;
}

function openStatements(connection: DatabaseSync): Statements {
  const prepared = new Map<string, StatementSync>();
  let written = 0;
  function statement(sql: string): StatementSync {
    const known = prepared.get(sql) ?? connection.prepare(sql);
    prepared.set(sql, known);
    return known;
  }
  return {
    run: (sql) => void statement(sql).run(),
    answer(asked) {
      if (asked.wants === "turn" || asked.wants === "end") return NO_ROWS;
      const { text, values } = rendered(asked.statement, SQLITE);
      try {
        if (asked.wants === "changes") {
          const changes = Number(statement(text).run(...values).changes);
          written += bytesOf(values);
          return { rows: [], changes };
        }
        return { rows: read(statement(text), asked.wants, values), changes: 0 };
      } catch (cause) {
        const mayRepeat = isOutOfRange(cause) && asked.wants !== "changes" && READS.test(text);
        return mayRepeat ? { rows: readAnyNumber(statement(text), asked.wants, values), changes: 0 } : { text, cause };
      }
    },
    takeWritten() {
      const bytes = written;
      written = 0;
      return bytes;
    },
    forget: () => prepared.clear(),
  };
}

type Wants = "one" | "all";

function read(statement: StatementSync, wants: Wants, values: readonly Value[]): readonly Row[] {
  if (wants === "all") return statement.all(...values);
  const row = statement.get(...values);
  return row ? [row] : [];
}

/** Statements that may be carried out twice. */
const READS = /^\s*SELECT\b/;

/** Rows of which one has such a number. It stays a bigint: whoever reads that column names the row. */
function readAnyNumber(of: StatementSync, wants: Wants, values: readonly Value[]): readonly Row[] {
  of.setReadBigInts(true);
  try {
    return read(of, wants, values).map((row) =>
      Object.fromEntries(Object.entries(row).map(([name, field]) => [name, numberIfExact(field)])),
    );
  } finally {
    of.setReadBigInts(false);
  }
}

function numberIfExact(field: Field): Field {
  const isExact = typeof field === "bigint" && Number.isSafeInteger(Number(field));
  return isExact ? Number(field) : field;
}

/** Bytes that a statement with these values adds to the log: a page of 4 KiB or more. */
function bytesOf(values: readonly Value[]): number {
  let bytes = PAGE_BYTES;
  for (const value of values) {
    if (typeof value === "string") bytes += value.length;
    else if (value instanceof Uint8Array) bytes += value.byteLength;
  }
  return bytes;
}

const PAGE_BYTES = 4096;

/** The statements that begin, end and undo a transaction. */
interface Bounds {
  readonly begin: string;
  /** null: what is around it ends it. */
  readonly end: string | null;
  readonly back: string;
}

const READ: Bounds = { begin: "BEGIN", end: "COMMIT", back: "ROLLBACK" };
const ALONE: Bounds = { begin: "BEGIN IMMEDIATE", end: "COMMIT", back: "ROLLBACK" };
const FIRST: Bounds = { ...ALONE, end: null };
const PART: Bounds = { begin: "SAVEPOINT part", end: "RELEASE part", back: "ROLLBACK TO part; RELEASE part" };

/** The time for which a connection waits until another process has written, ms. */
const BUSY_MS = 10_000;
/** The longest time between two attempts, ms. */
const MOST_PAUSE_MS = 50;

/**
 * Repeats work while another process holds the lock that it needs. SQLite itself would wait without
 * a turn for anybody.
 */
async function patiently<T>(work: () => T): Promise<T> {
  const until = monotonicMs() + BUSY_MS;
  for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, MOST_PAUSE_MS)) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || monotonicMs() > until) throw error;
    }
    await setTimeout(pauseMs);
  }
}

/** Asks again while another process holds the lock that the statement needs. */
async function answeredPatiently(ask: () => Answer): Promise<Answer> {
  let answer = ask();
  const again = () => {
    answer = ask();
    if ("cause" in answer && isBusy(answer.cause)) throw answer.cause;
  };
  await patiently(again).catch(() => {});
  return answer;
}

/**
 * SQLite itself ends the transaction after some errors (disk full, I/O). The error that led here is
 * the one to tell.
 */
function rollBack(connection: DatabaseSync, how: string): void {
  try {
    if (connection.isTransaction) connection.exec(how);
  } catch {}
}
