import { SEAL_FINAL } from "../rows/jobs.ts";
import { RAISED } from "./failure.ts";

/** ms since the epoch, by the server's clock. */
export const NOW = "clock_ms()";

/** The functions of the schema. Each migration replaces them all by those of this build. */
export const FUNCTIONS = `
  -- ms since the epoch, by the server's clock, now and not when the transaction began.
  CREATE OR REPLACE FUNCTION clock_ms() RETURNS float8 LANGUAGE sql VOLATILE AS
    $$ SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 $$;

  -- A session, its children, theirs and so on. A child's name begins with the id of its parent and a dot.
  CREATE OR REPLACE FUNCTION family(of_id text) RETURNS SETOF text LANGUAGE sql STABLE AS $$
    WITH RECURSIVE family (id) AS (
      SELECT of_id COLLATE "C" UNION SELECT s.id FROM family f JOIN sessions s
        ON s.name > f.id || '.' AND s.name < f.id || '/' AND s.origin = 'child')
    SELECT id FROM family $$;

  -- Drops the checkpoint, and the bases that only it needed.
  CREATE OR REPLACE FUNCTION drop_unneeded(wanted text) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE gone record;
  BEGIN
    WHILE wanted IS NOT NULL LOOP
      DELETE FROM checkpoints c WHERE c.id = wanted AND c.session IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM reach WHERE checkpoint = c.n)
        AND NOT EXISTS (SELECT 1 FROM checkpoints d WHERE d.base = c.id)
        RETURNING c.n, c.base INTO gone;
      EXIT WHEN NOT FOUND;
      DELETE FROM pages WHERE checkpoint = gone.n;
      wanted := gone.base;
    END LOOP;
  END $$;

  -- The part of one large value that a pair of offset and length names.
  CREATE OR REPLACE FUNCTION cut(b bytea, place jsonb) RETURNS bytea LANGUAGE sql IMMUTABLE AS
    $$ SELECT substring(b FROM (place->>0)::int + 1 FOR (place->>1)::int) $$;

  -- One commit of a session: what is named in p, with all bytes in b. It is refused unless the fence and the last seq are those
  -- that the caller knows.
  CREATE OR REPLACE FUNCTION commit_step(p jsonb, b bytea, new_facts text, new_settings text) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE c jsonb := p->'checkpoint'; made bigint; dropped text; s jsonb;
  BEGIN
    UPDATE sessions SET changed_at = (p->>'changed_at')::float8, head = p->>'head', last_seq = (p->>'last_seq')::bigint,
      checkpoints = (p->>'checkpoints')::bigint, journal_bytes = (p->>'journal_bytes')::bigint, facts = new_facts,
      settings = new_settings, sha256 = cut(b, p->'sha256')
      WHERE id = p->>'session' AND fence = (p->>'fence')::bigint AND last_seq = (p->>'before')::bigint;
    IF NOT FOUND THEN RAISE EXCEPTION 'the lease is lost' USING ERRCODE = '${RAISED.leaseLost}'; END IF;
    IF c IS NOT NULL THEN
      IF c->>'base' IS NOT NULL AND NOT EXISTS (SELECT 1 FROM checkpoints WHERE id = c->>'base') THEN
        RAISE EXCEPTION 'its base is missing' USING ERRCODE = '${RAISED.baseMissing}';
      END IF;
      INSERT INTO checkpoints (id, session, parent, base, exec_id, kind, seq, meta, beside, chain_length, chain_bytes, pages,
        stored_bytes, at, parts, sha256)
        VALUES (c->>'id', p->>'session', c->>'parent', c->>'base', c->>'exec_id', c->>'kind', (c->>'seq')::bigint,
        cut(b, c->'meta'), cut(b, c->'beside'), (c->>'chain_length')::bigint, (c->>'chain_bytes')::bigint,
        (c->>'count')::bigint, (c->>'stored_bytes')::bigint, (c->>'at')::float8, cut(b, c->'parts'), cut(b, c->'sha256'))
        RETURNING n INTO made;
      INSERT INTO pages (checkpoint, part, numbers, bytes)
        SELECT made, at - 1, cut(b, page->0), cut(b, page->1)
        FROM jsonb_array_elements(c->'pages') WITH ORDINALITY AS t (page, at);
      INSERT INTO reach (session, checkpoint) VALUES (p->>'session', made);
    END IF;
    INSERT INTO journal (session, seq, kind, content, sha256)
      SELECT p->>'session', (p->>'before')::bigint + at, r->>0, cut(b, r->1), cut(b, r->2)
      FROM jsonb_array_elements(p->'records') WITH ORDINALITY AS t (r, at);
    FOR dropped IN SELECT jsonb_array_elements_text(p->'drop') LOOP
      DELETE FROM reach USING checkpoints d
        WHERE reach.session = p->>'session' AND reach.checkpoint = d.n AND d.id = dropped;
      PERFORM drop_unneeded(dropped);
    END LOOP;
    INSERT INTO cache (key, value, at, sha256)
      SELECT a->>0, cut(b, a->1), (a->>2)::float8, cut(b, a->3) FROM jsonb_array_elements(p->'cache') AS a
      ON CONFLICT (key) DO UPDATE SET value = excluded.value, at = excluded.at, sha256 = excluded.sha256;
    INSERT INTO answers (asked, run, n, k, origin_run, origin_n, origin_k, model, usd, tokens, at, mended, sha256, value)
      SELECT a->>0, a->>1, (a->>2)::bigint, (a->>3)::bigint, a->>4, (a->>5)::bigint, (a->>6)::bigint, a->>7, (a->>8)::bigint,
        (a->>9)::bigint, (a->>10)::float8, a->>11, cut(b, a->12), cut(b, a->13) FROM jsonb_array_elements(p->'answers') AS a
      ON CONFLICT (asked, run, n, k) DO NOTHING;
    INSERT INTO uses (session, hash)
      SELECT p->>'session', hash FROM contexts WHERE hash IN (SELECT jsonb_array_elements_text(p->'uses'))
      ON CONFLICT DO NOTHING;
    FOR s IN SELECT jsonb_array_elements(p->'settle') LOOP
      PERFORM settle_call(s->>'run', (s->>'n')::bigint, s->>'call', (s->>'usd')::bigint, (s->>'tokens')::bigint,
        (s->>'calls')::bigint);
    END LOOP;
    DELETE FROM batch_requests WHERE session = p->>'session' AND state IN ('waiting', 'answered')
      AND call IN (SELECT jsonb_array_elements_text(p->'delivered'));
    UPDATE batch_requests SET state = 'unwanted' WHERE session = p->>'session' AND state = 'out'
      AND call IN (SELECT jsonb_array_elements_text(p->'delivered'));
  END $$;

  -- The holds of a call go; run and job get what it spent.
  CREATE OR REPLACE FUNCTION settle_call(of_run text, of_n bigint, of_call text, usd bigint, tokens bigint, calls bigint)
    RETURNS void LANGUAGE plpgsql AS $$
  DECLARE free record;
  BEGIN
    -- As give_amount does, the run is locked first: else the two wait for each other.
    PERFORM 1 FROM runs WHERE id = of_run FOR UPDATE;
    WITH gone AS (DELETE FROM holds h WHERE h.run = of_run AND h.n = of_n AND h.call = of_call RETURNING h.*)
      SELECT coalesce(sum(g.usd), 0) AS usd, coalesce(sum(g.tokens), 0) AS tokens, coalesce(sum(g.calls), 0) AS calls
      FROM gone g INTO free;
    UPDATE jobs SET spent_usd = spent_usd + usd, spent_tokens = spent_tokens + tokens, spent_calls = spent_calls + calls
      WHERE run = of_run AND n = of_n;
    IF NOT FOUND THEN RAISE EXCEPTION 'the run has no such job' USING ERRCODE = '${RAISED.noJob}'; END IF;
    UPDATE runs SET spent_usd = spent_usd + usd, spent_tokens = spent_tokens + tokens, spent_calls = spent_calls + calls,
      held_usd = held_usd - free.usd, held_tokens = held_tokens - free.tokens, held_calls = held_calls - free.calls
      WHERE id = of_run;
  END $$;

  -- What earlier tries of a job held becomes doubtful: it counts in full, permanently. Unless the job is over, holds by batch
  -- stay: the next try takes them over.
  CREATE OR REPLACE FUNCTION doubt_job(of_run text, of_n bigint, is_over boolean) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE left_over record;
  BEGIN
    PERFORM 1 FROM runs WHERE id = of_run FOR UPDATE;
    WITH gone AS (DELETE FROM holds h WHERE h.run = of_run AND h.n = of_n AND (is_over OR h.attempt >= 0) RETURNING h.*)
      SELECT count(*) AS found, coalesce(sum(g.usd), 0) AS usd, coalesce(sum(g.tokens), 0) AS tokens,
        coalesce(sum(g.calls), 0) AS calls FROM gone g INTO left_over;
    IF left_over.found = 0 THEN RETURN; END IF;
    UPDATE runs SET held_usd = held_usd - left_over.usd, held_tokens = held_tokens - left_over.tokens,
      held_calls = held_calls - left_over.calls, doubtful_usd = doubtful_usd + left_over.usd,
      doubtful_tokens = doubtful_tokens + left_over.tokens, doubtful_calls = doubtful_calls + left_over.calls
      WHERE id = of_run;
  END $$;

  -- Holds an amount of the run's before a request is sent: 'held', 'wait' if others hold it, else the limit that is spent.
  CREATE OR REPLACE FUNCTION reserve_amount(of_run text, of_n bigint, of_call text, of_attempt int, of_fence bigint, usd bigint,
    tokens bigint, calls bigint) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE r runs;
  BEGIN
    SELECT * FROM runs WHERE id = of_run FOR UPDATE INTO r;
    IF NOT FOUND THEN RETURN NULL; END IF;
    -- A request by batch that an earlier try has made: its hold goes on.
    UPDATE holds SET fence = of_fence WHERE run = of_run AND n = of_n AND call = of_call AND attempt = of_attempt;
    IF FOUND THEN RETURN 'held'; END IF;
    IF usd > r.lim_usd - r.spent_usd - r.doubtful_usd THEN RETURN 'nanodollars'; END IF;
    IF tokens > r.lim_tokens - r.spent_tokens - r.doubtful_tokens THEN RETURN 'tokens'; END IF;
    IF calls > r.lim_calls - r.spent_calls - r.doubtful_calls THEN RETURN 'sub_calls'; END IF;
    IF usd > r.lim_usd - r.spent_usd - r.doubtful_usd - r.held_usd
      OR tokens > r.lim_tokens - r.spent_tokens - r.doubtful_tokens - r.held_tokens
      OR calls > r.lim_calls - r.spent_calls - r.doubtful_calls - r.held_calls THEN RETURN 'wait'; END IF;
    INSERT INTO holds VALUES (of_run, of_n, of_call, of_attempt, of_fence, usd, tokens, calls);
    UPDATE runs SET held_usd = held_usd + usd, held_tokens = held_tokens + tokens, held_calls = held_calls + calls
      WHERE id = of_run;
    RETURN 'held';
  END $$;

  -- What a request really took stays held until the record of its call.
  CREATE OR REPLACE FUNCTION give_amount(of_run text, of_n bigint, of_call text, of_attempt int, new_usd bigint, new_tokens bigint,
    new_calls bigint) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE h holds;
  BEGIN
    PERFORM 1 FROM runs WHERE id = of_run FOR UPDATE;
    SELECT * FROM holds WHERE run = of_run AND n = of_n AND call = of_call AND attempt = of_attempt INTO h;
    IF NOT FOUND THEN RETURN; END IF;
    UPDATE holds SET usd = new_usd, tokens = new_tokens, calls = new_calls
      WHERE run = of_run AND n = of_n AND call = of_call AND attempt = of_attempt;
    UPDATE runs SET held_usd = held_usd - h.usd + new_usd, held_tokens = held_tokens - h.tokens + new_tokens,
      held_calls = held_calls - h.calls + new_calls WHERE id = of_run;
  END $$;

  -- Takes the next instants of a rate, unless they are too far; answers how long to wait for the first of them, ms.
  CREATE OR REPLACE FUNCTION take_slot(of_key text, wide float8, farthest float8) RETURNS float8 LANGUAGE plpgsql AS $$
  DECLARE start float8; now_ms float8;
  BEGIN
    INSERT INTO rates (key, tat) VALUES (of_key, 0) ON CONFLICT (key) DO NOTHING;
    SELECT tat FROM rates WHERE key = of_key FOR UPDATE INTO start;
    now_ms := clock_ms();
    start := greatest(start, now_ms);
    IF start - now_ms <= farthest THEN UPDATE rates SET tat = start + wide WHERE key = of_key; END IF;
    RETURN start - now_ms;
  END $$;

  -- A job that becomes final is sealed, whatever makes it so; one that waits again is not. What is changed afterwards keeps the seal.
  CREATE OR REPLACE FUNCTION seal_final() RETURNS trigger LANGUAGE plpgsql SET extra_float_digits = 1 AS $$${SEAL_FINAL} $$;
  CREATE OR REPLACE TRIGGER seal_final BEFORE UPDATE OF state ON jobs FOR EACH ROW EXECUTE FUNCTION seal_final();
`;
