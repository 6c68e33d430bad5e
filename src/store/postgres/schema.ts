import { RlmError } from "../../../runtime/errors.ts";
import { madeTooEarly } from "../failure.ts";
import { numberColumn } from "../rows/row.ts";
import type { Server, Sql } from "./connection.ts";
import { FUNCTIONS } from "./functions.ts";

/** Version of a store of 0.1.0. Builds before it used lower numbers. */
const FIRST_VERSION = 11;

/**
 * Statements that turn a store of one version into one of the next. The first make {@link
 * FIRST_VERSION} of an empty schema. Append only: what was released is out there. Texts are
 * compared byte by byte, as in a file. No column that holds JSON is `jsonb`, which reorders keys.
 * The functions follow each time.
 */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE sessions (
    id text COLLATE "C" PRIMARY KEY, name text COLLATE "C" UNIQUE, origin text NOT NULL, created_at float8 NOT NULL,
    changed_at float8 NOT NULL, head text COLLATE "C", last_seq bigint NOT NULL, checkpoints bigint NOT NULL,
    journal_bytes bigint NOT NULL, facts text NOT NULL, settings text NOT NULL, forked_from text, sha256 bytea NOT NULL,
    pid bigint, host text, fence bigint NOT NULL DEFAULT 0
  ) WITH (fillfactor = 70);

  CREATE TABLE leases (
    session text COLLATE "C" PRIMARY KEY, holder text NOT NULL, until timestamptz NOT NULL
  ) WITH (fillfactor = 50);

  CREATE TABLE journal (
    session text COLLATE "C" NOT NULL, seq bigint NOT NULL, kind text NOT NULL, content bytea NOT NULL,
    sha256 bytea NOT NULL, PRIMARY KEY (session, seq)
  );

  CREATE TABLE checkpoints (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE, session text COLLATE "C",
    parent text, base text COLLATE "C", exec_id text, kind text NOT NULL, seq bigint NOT NULL,
    meta bytea NOT NULL, beside bytea NOT NULL, chain_length bigint NOT NULL,
    chain_bytes bigint NOT NULL, pages bigint NOT NULL, stored_bytes bigint NOT NULL, at float8 NOT NULL,
    parts bytea NOT NULL, sha256 bytea NOT NULL
  );
  CREATE INDEX checkpoints_by_base ON checkpoints (base);

  CREATE TABLE pages (
    checkpoint bigint NOT NULL, part int NOT NULL, numbers bytea NOT NULL,
    bytes bytea NOT NULL, PRIMARY KEY (checkpoint, part)
  );

  CREATE TABLE reach (session text COLLATE "C" NOT NULL, checkpoint bigint NOT NULL, PRIMARY KEY (session, checkpoint));
  CREATE INDEX reach_by_checkpoint ON reach (checkpoint);

  CREATE TABLE contexts (
    hash text COLLATE "C" PRIMARY KEY, parts text NOT NULL, facts bytea NOT NULL, sha256 bytea NOT NULL
  );
  CREATE TABLE parts (hash text COLLATE "C" PRIMARY KEY, bytes bigint NOT NULL);
  CREATE TABLE chunks (
    part text COLLATE "C" NOT NULL, chunk int NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (part, chunk)
  );

  CREATE TABLE cache (
    key text COLLATE "C" PRIMARY KEY, value bytea NOT NULL, at float8 NOT NULL, sha256 bytea NOT NULL
  );

  CREATE TABLE runs (
    id text COLLATE "C" PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE, queue text COLLATE "C" NOT NULL,
    share int NOT NULL, spec text NOT NULL, hash text NOT NULL, state text NOT NULL, why text, created_at float8 NOT NULL,
    first_rank bigint NOT NULL, lim_usd bigint, lim_tokens bigint, lim_calls bigint,
    spent_usd bigint NOT NULL DEFAULT 0, spent_tokens bigint NOT NULL DEFAULT 0, spent_calls bigint NOT NULL DEFAULT 0,
    held_usd bigint NOT NULL DEFAULT 0, held_tokens bigint NOT NULL DEFAULT 0, held_calls bigint NOT NULL DEFAULT 0,
    doubtful_usd bigint NOT NULL DEFAULT 0, doubtful_tokens bigint NOT NULL DEFAULT 0,
    doubtful_calls bigint NOT NULL DEFAULT 0,
    script_file text COLLATE "C", table_file text COLLATE "C", fresh int NOT NULL DEFAULT 0
  ) WITH (fillfactor = 50);
  CREATE INDEX runs_by_script ON runs (script_file, id);
  CREATE INDEX runs_by_table ON runs (table_file, id);

  -- model: that of a job that asks another one than its run. sha256: over a job that is final. asked: over its input and context.
  CREATE TABLE jobs (
    run text COLLATE "C" NOT NULL, n bigint NOT NULL, id text COLLATE "C" NOT NULL, state text NOT NULL, why text,
    rank bigint NOT NULL, run_at float8, changed_at float8 NOT NULL, ticket text, fence bigint NOT NULL DEFAULT 0,
    session text COLLATE "C" NOT NULL, engine text, attempts int NOT NULL DEFAULT 0, lapses int NOT NULL DEFAULT 0,
    answers bigint NOT NULL DEFAULT 0, input bytea NOT NULL, context text COLLATE "C",
    result bytea, told bytea,
    spent_usd bigint NOT NULL DEFAULT 0, spent_tokens bigint NOT NULL DEFAULT 0, spent_calls bigint NOT NULL DEFAULT 0,
    begun_at float8, ended_at float8, model text, sha256 bytea, asked bytea NOT NULL,
    PRIMARY KEY (run, n), UNIQUE (run, id)
  ) WITH (fillfactor = 70);
  CREATE INDEX jobs_by_rank ON jobs (rank, run, n) WHERE state IN ('waiting', 'running', 'cancelling');
  CREATE INDEX jobs_by_state ON jobs (run, state, n);
  CREATE INDEX jobs_by_session ON jobs (session);

  -- What is packed already is not packed again. CREATE TABLE can say so since PostgreSQL 16 only.
  ALTER TABLE journal ALTER content SET STORAGE EXTERNAL;
  ALTER TABLE checkpoints ALTER meta SET STORAGE EXTERNAL, ALTER beside SET STORAGE EXTERNAL,
    ALTER parts SET STORAGE EXTERNAL;
  ALTER TABLE pages ALTER numbers SET STORAGE EXTERNAL, ALTER bytes SET STORAGE EXTERNAL;
  ALTER TABLE contexts ALTER facts SET STORAGE EXTERNAL;
  ALTER TABLE chunks ALTER bytes SET STORAGE EXTERNAL;
  ALTER TABLE cache ALTER value SET STORAGE EXTERNAL;
  ALTER TABLE jobs ALTER input SET STORAGE EXTERNAL, ALTER result SET STORAGE EXTERNAL,
    ALTER told SET STORAGE EXTERNAL;

  CREATE TABLE holds (
    run text COLLATE "C" NOT NULL, n bigint NOT NULL, call text COLLATE "C" NOT NULL, attempt int NOT NULL,
    fence bigint NOT NULL, usd bigint NOT NULL, tokens bigint NOT NULL, calls bigint NOT NULL,
    PRIMARY KEY (run, n, call, attempt)
  );

  -- tat: the instant from which the next may be sent, ms since the epoch.
  CREATE TABLE rates (key text COLLATE "C" PRIMARY KEY, tat float8 NOT NULL) WITH (fillfactor = 50);

  -- Which contexts a session names, so that gc reads no texts.
  CREATE TABLE uses (session text COLLATE "C" NOT NULL, hash text COLLATE "C" NOT NULL, PRIMARY KEY (session, hash));
  CREATE INDEX uses_by_hash ON uses (hash);

  -- Requests that go by batches of providers. A proof is made with the key of an account, so that nothing but what its owner has
  -- asked for is sent with it.
  CREATE TABLE batch_requests (
    session text COLLATE "C" NOT NULL, call text COLLATE "C" NOT NULL, k int NOT NULL, root text COLLATE "C" NOT NULL,
    run text COLLATE "C", account text COLLATE "C" NOT NULL, model text COLLATE "C" NOT NULL, state text NOT NULL,
    at float8 NOT NULL, bytes bigint NOT NULL, tries int NOT NULL DEFAULT 0, ready_at float8 NOT NULL DEFAULT 0, most bigint,
    provider_batch text COLLATE "C", n bigint, status int, body_sum bytea NOT NULL, proof text, sha256 bytea NOT NULL, answer bytea, body bytea,
    PRIMARY KEY (session, call, k)
  ) WITH (fillfactor = 70);
  ALTER TABLE batch_requests ALTER answer SET STORAGE EXTERNAL, ALTER body SET STORAGE EXTERNAL;
  CREATE INDEX batch_requests_waiting ON batch_requests (account, model, at, session, call, k, ready_at, bytes, most, run)
    WHERE state = 'waiting';
  CREATE INDEX batch_requests_by_run ON batch_requests (run, provider_batch, account, model, at) WHERE state IN ('waiting', 'out');
  CREATE INDEX batch_requests_by_root ON batch_requests (root, state);
  CREATE INDEX batch_requests_by_batch ON batch_requests (provider_batch, n, state);

  CREATE TABLE provider_batches (
    id text COLLATE "C" PRIMARY KEY, account text COLLATE "C" NOT NULL, model text COLLATE "C" NOT NULL, requests bigint NOT NULL,
    state text NOT NULL, closed_at float8 NOT NULL, file text, asked_at float8, batch text, made_at float8,
    cancelled int NOT NULL, over_at float8, look_at float8 NOT NULL, done bigint NOT NULL, proof text, sha256 bytea NOT NULL
  ) WITH (fillfactor = 50);
  CREATE INDEX provider_batches_open ON provider_batches (look_at) WHERE state <> 'over';
  CREATE INDEX provider_batches_by_account ON provider_batches (account, over_at);

  -- The fence of an account grows with each of its leases.
  CREATE TABLE accounts (id text COLLATE "C" PRIMARY KEY, fence bigint NOT NULL) WITH (fillfactor = 50);

  -- Answers to calls of jobs, which later runs of the same script or table take over. The origin is the call that was asked.
  CREATE TABLE answers (
    asked text COLLATE "C" NOT NULL, run text COLLATE "C" NOT NULL, n bigint NOT NULL, k bigint NOT NULL,
    origin_run text COLLATE "C" NOT NULL, origin_n bigint NOT NULL, origin_k bigint NOT NULL,
    model text NOT NULL, usd bigint NOT NULL, tokens bigint NOT NULL, at float8 NOT NULL, sha256 bytea NOT NULL,
    value bytea NOT NULL, PRIMARY KEY (asked, run, n, k)
  );
  ALTER TABLE answers ALTER value SET STORAGE EXTERNAL;
  CREATE UNIQUE INDEX answers_by_origin ON answers (run, asked, origin_run, origin_n, origin_k);
  CREATE INDEX answers_by_job ON answers (run, n);
  CREATE INDEX answers_reused ON answers (run, origin_run) WHERE origin_run <> run;
  `,
  `
  -- Kinds of what was put right in the answer, as a JSON list.
  ALTER TABLE answers ADD COLUMN mended text;
  `,
];

export const SCHEMA_VERSION = FIRST_VERSION + MIGRATIONS.length - 1;

const APPLICATION = "belay";

/**
 * Makes the schema of the store, or brings it up to date. One process at a time does so.
 * @throws RlmError `store_too_new`, or `store_failed` for a schema of another program; both are
 * left as they are
 */
export async function migrate(server: Server): Promise<void> {
  if ((await storedVersion(server, server)) === SCHEMA_VERSION) return;
  await server.write(async (sql) => {
    await sql.run("SELECT pg_advisory_xact_lock(hashtext($1))", `belay ${server.schema}`);
    const version = await storedVersion(server, sql);
    if (version === SCHEMA_VERSION) return;
    await sql.run(`CREATE SCHEMA IF NOT EXISTS "${server.schema}"`);
    if (version === 0) await sql.run("CREATE TABLE meta (version int NOT NULL, application text NOT NULL)");
    for (const migration of MIGRATIONS.slice(version === 0 ? 0 : version - FIRST_VERSION + 1)) await sql.run(migration);
    await sql.run(FUNCTIONS);
    await sql.run("DELETE FROM meta");
    await sql.run("INSERT INTO meta (version, application) VALUES ($1, $2)", SCHEMA_VERSION, APPLICATION);
  });
}

/**
 * Version of the store; 0 if the schema is not there, or is empty.
 *
 * @throws RlmError `store_failed`, `store_too_new`
 */
export async function storedVersion({ name, schema }: Server, sql: Sql): Promise<number> {
  const tables = await sql.all("SELECT tablename FROM pg_tables WHERE schemaname = $1", schema);
  if (tables.length === 0) return 0;
  const hasMeta = tables.some(({ tablename }) => tablename === "meta");
  const meta = hasMeta ? await sql.get(`SELECT version, application FROM "${schema}".meta`) : undefined;
  if (meta?.application !== APPLICATION) {
    throw new RlmError("store_failed", `the schema ${schema} on ${name} is that of another program`, {
      suggestion: "Name another schema with ?schema=NAME in the URL.",
    });
  }
  const version = numberColumn(meta, "version");
  if (version < FIRST_VERSION) {
    throw madeTooEarly(
      `the store on ${name}`,
      "Name another schema with ?schema=NAME in the URL: a new store is made there.",
    );
  }
  if (version <= SCHEMA_VERSION) return version;
  const message = `the store on ${name} is of version ${version}; this build reads versions up to ${SCHEMA_VERSION}`;
  throw new RlmError("store_too_new", message, { suggestion: "Update Belay, or name another schema in the URL." });
}
