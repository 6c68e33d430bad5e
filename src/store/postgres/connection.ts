import { setImmediate } from "node:timers/promises";
import type pg from "pg";
import { RlmError } from "../../../runtime/errors.ts";
import { thrownBy } from "../failure.ts";
import type { Row } from "../rows/row.ts";
import { serverPackagesCure } from "../server-packages.ts";
import { type Answer, type Asked, NO_ROWS, type Plan, POSTGRES, rendered } from "../sql/sql.ts";
import { readServerUrl, shownPlace } from "../store-place.ts";
import { codeOf, serverError } from "./failure.ts";

/** The value of a statement's parameter. Bytes go as they are; lists go as PostgreSQL's arrays. */
type Value = null | number | string | boolean | Uint8Array | readonly string[] | readonly number[];

/** Runs statements, on any connection or in one transaction. */
export interface Sql {
  perform<T>(plan: Plan<T>): Promise<T>;
  all(text: string, ...values: Value[]): Promise<readonly Row[]>;
  /** Returns the first row. */
  get(text: string, ...values: Value[]): Promise<Row | undefined>;
  /** Returns how many rows changed. */
  run(text: string, ...values: Value[]): Promise<number>;
}

/** A server with the schema of one store. What it throws is an `RlmError` that names it. */
export interface Server extends Sql {
  /** The URL without its password, for messages. */
  readonly name: string;
  readonly schema: string;
  /** Keeps all writes of `work`, or none. */
  write<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** Runs `work`, whose reads are all of one moment. */
  read<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** A commit, a beat and a reader can be at work at once. */
const CONNECTIONS = 3;
const CONNECT_MS = 10_000;

/**
 * A server with the schema of one store. What it throws is an RlmError that names it, without its
 * password.
 * @throws RlmError `store_failed` if the client is not installed, or for an invalid URL
 */
export async function connect(url: string): Promise<Server> {
  const name = shownPlace(url);
  const { Pool, types } = await client(name);
  const { connectionString, schema } = readServerUrl(url);
  const pool = new Pool({
    connectionString,
    application_name: "belay",
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    // A process that asks for nothing more can end.
    allowExitOnIdle: true,
    options: `-c search_path=${schema} -c synchronous_commit=on -c client_min_messages=warning`,
    types: { getTypeParser: (oid, format) => (oid === INT8 ? Number : types.getTypeParser(oid, format)) },
  });
  // A connection that breaks is replaced by the next one. Its statement rejects too.
  pool.on("error", () => {});
  pool.on("connect", (one) => one.on("error", () => {}));
  const failure = (error: unknown) => serverError(error, name);

  /** Repeats work that the server has undone because two waited for each other. */
  async function on<T>(work: (one: pg.PoolClient) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await once(work);
      } catch (error) {
        if (attempt === MOST_UNDONE || !isUndone(error)) throw error;
      }
    }
  }

  async function once<T>(work: (one: pg.PoolClient) => Promise<T>): Promise<T> {
    let broken: Error | undefined;
    let one: pg.PoolClient | undefined;
    try {
      one = await pool.connect();
      return await work(one);
    } catch (error) {
      // Of a connection whose statement failed nothing is known: it is not used again.
      broken = error instanceof RlmError ? undefined : new Error("a statement failed");
      throw failure(error);
    } finally {
      one?.release(broken);
    }
  }

  const transaction =
    (begin: string) =>
    <T>(work: (sql: Sql) => Promise<T>) =>
      on(async (one) => {
        await one.query(begin);
        try {
          const done = await work(sqlOf((text, values) => one.query({ text, values })));
          await one.query("COMMIT");
          return done;
        } catch (error) {
          await one.query("ROLLBACK").catch(() => {});
          throw error;
        }
      });

  const pooled = sqlOf((text, values) => on((one) => one.query({ text, values })));
  return {
    ...pooled,
    perform: <T>(plan: Plan<T>) =>
      pooled.perform(plan).catch((error): never => {
        throw failure(error);
      }),
    name,
    schema,
    write: transaction("BEGIN"),
    read: transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
    close: () => pool.end(),
  };
}

const INT8 = 20;
const MOST_UNDONE = 5;

/** A deadlock, or a transaction that could not be put in a row with others. */
function isUndone(error: unknown): boolean {
  const code = error instanceof Error ? codeOf(thrownBy(error.cause)) : null;
  return code === "40P01" || code === "40001";
}

/** Runs statements, on any connection or on one. */
function sqlOf(query: (text: string, values: unknown[]) => Promise<pg.QueryResult<Record<string, never>>>): Sql {
  const run = async (text: string, values: readonly Value[]) =>
    query(
      text,
      values.map((value) => (value instanceof Uint8Array ? bufferOf(value) : value)),
    );
  async function answered(asked: Asked): Promise<Answer> {
    if (asked.wants === "turn") return setImmediate(NO_ROWS);
    if (asked.wants === "end") return asked.of.then(() => NO_ROWS);
    const { text, values } = rendered(asked.statement, POSTGRES);
    try {
      const { rows, rowCount } = await run(text, values);
      return { rows, changes: rowCount ?? 0 };
    } catch (error) {
      // An error that names the server already is named again, with the statement, where the plan ends.
      return { text, cause: error instanceof RlmError ? error.cause : error };
    }
  }
  return {
    async perform(plan) {
      let step = plan.next();
      while (!step.done) step = plan.next(await answered(step.value));
      return step.value;
    },
    all: async (text, ...values) => (await run(text, values)).rows,
    get: async (text, ...values) => (await run(text, values)).rows[0],
    run: async (text, ...values) => (await run(text, values)).rowCount ?? 0,
  };
}

/** The same bytes as a buffer. Those in shared memory are copied, which the client cannot send. */
function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  if (!(buffer instanceof SharedArrayBuffer)) return Buffer.from(buffer, byteOffset, byteLength);
  return Buffer.from(new Uint8Array(buffer, byteOffset, byteLength));
}

async function client(name: string): Promise<typeof pg> {
  try {
    return (await import("pg")).default;
  } catch (error) {
    throw new RlmError("store_failed", `the store on ${name} needs the package pg, which is not installed`, {
      suggestion: serverPackagesCure(),
      cause: error,
    });
  }
}
