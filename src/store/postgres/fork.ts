import { checkpointNotFound, corrupt } from "../failure.ts";
import type { NewSession } from "../port.ts";
import { type Checkpoint, wholeCheckpoints } from "../rows/checkpoint.ts";
import { recordsIn, sealOfRecord } from "../rows/journal.ts";
import { blank, type Session } from "../rows/session.ts";
import { hashesIn } from "../rows/uses.ts";
import { copyUses } from "../sql/uses.ts";
import { readableCheckpoints } from "./checkpoints.ts";
import { bytesOfText } from "./commit.ts";
import type { Sql } from "./connection.ts";
import { insertSession, readSession } from "./sessions.ts";

/** Makes a session at a checkpoint of its parent; null: the parent's head. */
export async function fork(sql: Sql, parentId: string, checkpoint: string | null, wanted: NewSession): Promise<void> {
  // Until this is over the parent's holder drops no checkpoint that the fork shares.
  await sql.get("SELECT id FROM sessions WHERE id = $1 FOR SHARE", parentId);
  const parent = await readSession(sql, parentId);
  const all = wholeCheckpoints(await readableCheckpoints(sql, parent));
  const { reached, at } = upTo(parent, all, checkpoint ?? parent.head);
  const journal = await recordsUpTo(sql, parent, wanted.id, at.seq);
  const head = reached.findLast(({ kind }) => kind === "end")?.id ?? null;
  await insertSession(sql, {
    ...{ ...blank(wanted), facts: parent.facts, forked_from: at.id, last_seq: at.seq },
    ...{ head, checkpoints: reached.length, journal_bytes: journal.bytes },
  });
  await sql.run(
    "INSERT INTO reach (session, checkpoint) SELECT $1, unnest($2::bigint[])",
    wanted.id,
    reached.map(({ n }) => n),
  );
  const extras = reached.map((one) => one.extras);
  await sql.perform(copyUses(parent.id, wanted.id, hashesIn([journal.records, parent.facts, extras])));
  for (const { seq, kind, content, sha256 } of journal.rows) {
    const copied = "INSERT INTO journal (session, seq, kind, content, sha256) VALUES ($1, $2, $3, $4, $5)";
    await sql.run(copied, wanted.id, seq, kind, content, sha256);
  }
}

async function recordsUpTo(sql: Sql, parent: Session, to: string, last: number) {
  const stored = await sql.all("SELECT * FROM journal WHERE session = $1 ORDER BY seq", parent.id);
  const { rows, damaged } = recordsIn(stored, parent, 1);
  const [first] = damaged;
  if (first !== undefined) throw corrupt(first);
  const records = rows.filter(({ seq }) => seq <= last);
  const copied = records.map(({ seq, record }) => {
    const content = JSON.stringify(record);
    const kind = record.record;
    return { seq, kind, content: bytesOfText(content), sha256: sealOfRecord(to, seq, kind, content) };
  });
  return { records, rows: copied, bytes: copied.reduce((sum, { content }) => sum + content.byteLength, 0) };
}

function upTo(parent: Session, all: readonly Checkpoint[], wanted: string | null) {
  if (wanted === null) throw checkpointNotFound(`session ${parent.id} has no checkpoint: no exec has ended yet`);
  const index = all.findIndex(({ id }) => id === wanted);
  const at = all[index];
  if (!at) throw checkpointNotFound(`session ${parent.id} has no checkpoint ${wanted}`);
  return { at, reached: all.slice(0, index + 1) };
}
