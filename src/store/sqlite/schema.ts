/** Version of a store of 0.1.0. Builds before it used lower numbers. */
export const FIRST_VERSION = 11;

/**
 * Statements that turn a store of one version into one of the next. The first make {@link
 * FIRST_VERSION} of an empty file. Append only: what was released is out there.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE sessions (
    id TEXT PRIMARY KEY, name TEXT UNIQUE, origin TEXT NOT NULL, created_at REAL NOT NULL, changed_at REAL NOT NULL,
    head TEXT, last_seq INTEGER NOT NULL, checkpoints INTEGER NOT NULL, journal_bytes INTEGER NOT NULL,
    facts TEXT NOT NULL, settings TEXT NOT NULL, forked_from TEXT, sha256 BLOB NOT NULL,
    pid INTEGER, host TEXT
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE journal (
    session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE, seq INTEGER NOT NULL,
    kind TEXT NOT NULL, content ANY NOT NULL, sha256 BLOB NOT NULL, PRIMARY KEY (session, seq)
  ) STRICT, WITHOUT ROWID;

  -- Baselines are the rows without a session.
  CREATE TABLE checkpoints (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session TEXT, parent TEXT, base TEXT, exec_id TEXT, kind TEXT NOT NULL,
    seq INTEGER NOT NULL, meta ANY NOT NULL, beside ANY NOT NULL,
    chain_length INTEGER NOT NULL, chain_bytes INTEGER NOT NULL,
    pages INTEGER NOT NULL, stored_bytes INTEGER NOT NULL, at REAL NOT NULL, parts BLOB NOT NULL, sha256 BLOB NOT NULL
  ) STRICT;
  CREATE INDEX checkpoints_by_base ON checkpoints (base);

  -- place = checkpoint * 65536 + part: one tree, in the order in which an image is read.
  CREATE TABLE pages (place INTEGER PRIMARY KEY, numbers BLOB NOT NULL, bytes BLOB NOT NULL) STRICT;

  -- Which sessions a checkpoint belongs to: forks share them.
  CREATE TABLE reach (
    session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE, checkpoint INTEGER NOT NULL,
    PRIMARY KEY (session, checkpoint)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX reach_by_checkpoint ON reach (checkpoint);

  CREATE TABLE contexts (hash TEXT PRIMARY KEY, parts TEXT NOT NULL, facts ANY NOT NULL, sha256 BLOB NOT NULL)
    STRICT, WITHOUT ROWID;
  CREATE TABLE parts (n INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL) STRICT;
  -- place = part * 65536 + chunk.
  CREATE TABLE chunks (place INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;

  CREATE TABLE cache (key TEXT PRIMARY KEY, value ANY NOT NULL, at REAL NOT NULL, sha256 BLOB NOT NULL)
    STRICT, WITHOUT ROWID;

  -- Jobs of runs. Their session is a row of sessions once it is opened, with the origin batch.
  CREATE TABLE runs (
    id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, queue TEXT NOT NULL, share INTEGER NOT NULL, spec TEXT NOT NULL,
    hash TEXT NOT NULL, state TEXT NOT NULL, why TEXT, created_at REAL NOT NULL, first_rank INTEGER NOT NULL,
    lim_usd INTEGER, lim_tokens INTEGER, lim_calls INTEGER,
    spent_usd INTEGER NOT NULL DEFAULT 0, spent_tokens INTEGER NOT NULL DEFAULT 0, spent_calls INTEGER NOT NULL DEFAULT 0,
    held_usd INTEGER NOT NULL DEFAULT 0, held_tokens INTEGER NOT NULL DEFAULT 0, held_calls INTEGER NOT NULL DEFAULT 0,
    doubtful_usd INTEGER NOT NULL DEFAULT 0, doubtful_tokens INTEGER NOT NULL DEFAULT 0,
    doubtful_calls INTEGER NOT NULL DEFAULT 0,
    script_file TEXT, table_file TEXT, fresh INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX runs_by_script ON runs (script_file, id);
  CREATE INDEX runs_by_table ON runs (table_file, id);

  -- model: that of a job that asks another one than its run. sha256: over a job that is final. asked: over its input and context.

  CREATE TABLE jobs (
    run TEXT NOT NULL, n INTEGER NOT NULL, id TEXT NOT NULL, state TEXT NOT NULL, why TEXT, rank INTEGER NOT NULL,
    run_at REAL, changed_at REAL NOT NULL, ticket TEXT, fence INTEGER NOT NULL DEFAULT 0, session TEXT NOT NULL, engine TEXT,
    attempts INTEGER NOT NULL DEFAULT 0, lapses INTEGER NOT NULL DEFAULT 0, answers INTEGER NOT NULL DEFAULT 0,
    input ANY NOT NULL, context TEXT, result ANY, told ANY,
    spent_usd INTEGER NOT NULL DEFAULT 0, spent_tokens INTEGER NOT NULL DEFAULT 0, spent_calls INTEGER NOT NULL DEFAULT 0,
    begun_at REAL, ended_at REAL, model TEXT, sha256 BLOB, asked BLOB NOT NULL,
    UNIQUE (run, n), UNIQUE (run, id)
  ) STRICT;
  CREATE INDEX jobs_by_rank ON jobs (rank, run, n) WHERE state IN ('waiting', 'running', 'cancelling');
  CREATE INDEX jobs_by_state ON jobs (run, state, n);
  CREATE INDEX jobs_by_session ON jobs (session);

  CREATE TABLE holds (
    run TEXT NOT NULL, n INTEGER NOT NULL, call TEXT NOT NULL, attempt INTEGER NOT NULL, fence INTEGER NOT NULL,
    usd INTEGER NOT NULL, tokens INTEGER NOT NULL, calls INTEGER NOT NULL, PRIMARY KEY (run, n, call, attempt)
  ) STRICT, WITHOUT ROWID;

  -- tat: the instant from which the next may be sent, ms since the epoch.
  CREATE TABLE rates (key TEXT PRIMARY KEY, tat REAL NOT NULL) STRICT, WITHOUT ROWID;

  -- Which contexts a session names, so that gc reads no texts.
  CREATE TABLE uses (
    session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE, hash TEXT NOT NULL, PRIMARY KEY (session, hash)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX uses_by_hash ON uses (hash);

  -- Requests that go by batches of providers. The long columns are the last ones: they are not read when states are. A proof is
  -- made with the key of an account, so that nothing but what its owner has asked for is sent with it.
  CREATE TABLE batch_requests (
    session TEXT NOT NULL, call TEXT NOT NULL, k INTEGER NOT NULL, root TEXT NOT NULL, run TEXT,
    account TEXT NOT NULL, model TEXT NOT NULL, state TEXT NOT NULL, at REAL NOT NULL, bytes INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0, ready_at REAL NOT NULL DEFAULT 0, most INTEGER, provider_batch TEXT, n INTEGER, status INTEGER,
    body_sum BLOB NOT NULL, proof TEXT, sha256 BLOB NOT NULL, answer ANY, body ANY, PRIMARY KEY (session, call, k)
  ) STRICT;
  CREATE INDEX batch_requests_waiting ON batch_requests (account, model, at, session, call, k, ready_at, bytes, most, run)
    WHERE state = 'waiting';
  CREATE INDEX batch_requests_by_run ON batch_requests (run, provider_batch, account, model, at) WHERE state IN ('waiting', 'out');
  CREATE INDEX batch_requests_by_root ON batch_requests (root, state);
  CREATE INDEX batch_requests_by_batch ON batch_requests (provider_batch, n, state);

  CREATE TABLE provider_batches (
    id TEXT PRIMARY KEY, account TEXT NOT NULL, model TEXT NOT NULL, requests INTEGER NOT NULL, state TEXT NOT NULL,
    closed_at REAL NOT NULL, file TEXT, asked_at REAL, batch TEXT, made_at REAL, cancelled INTEGER NOT NULL, over_at REAL,
    look_at REAL NOT NULL, done INTEGER NOT NULL, proof TEXT, sha256 BLOB NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX provider_batches_open ON provider_batches (look_at) WHERE state <> 'over';
  CREATE INDEX provider_batches_by_account ON provider_batches (account, over_at);

  -- Answers to calls of jobs, which later runs of the same script or table take over. The origin is the call that was asked.
  CREATE TABLE answers (
    asked TEXT NOT NULL, run TEXT NOT NULL, n INTEGER NOT NULL, k INTEGER NOT NULL,
    origin_run TEXT NOT NULL, origin_n INTEGER NOT NULL, origin_k INTEGER NOT NULL,
    model TEXT NOT NULL, usd INTEGER NOT NULL, tokens INTEGER NOT NULL, at REAL NOT NULL, sha256 BLOB NOT NULL,
    value ANY NOT NULL, PRIMARY KEY (asked, run, n, k)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX answers_by_origin ON answers (run, asked, origin_run, origin_n, origin_k);
  CREATE INDEX answers_by_job ON answers (run, n);
  CREATE INDEX answers_reused ON answers (run, origin_run) WHERE origin_run <> run;
  `,
  `
  -- Texts and tables of large contexts, by their names in the folder of the store. bytes: those of the file.
  CREATE TABLE texts (name TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  `,
  `
  -- Kinds of what was put right in the answer, as a JSON list.
  ALTER TABLE answers ADD COLUMN mended TEXT;
  `,
];

export const SCHEMA_VERSION = FIRST_VERSION + MIGRATIONS.length - 1;
