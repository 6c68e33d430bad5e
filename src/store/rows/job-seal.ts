import { corrupt } from "../failure.ts";
import { anyColumn, type Field, type Row, seal } from "./seal.ts";

/** Columns of a job that stay once it is final, but its result and what may be long. Money may still be settled. */
const SEALED_TEXTS = [
  ...["run", "n", "id", "session", "state", "why", "rank", "run_at", "ticket", "fence", "engine"],
  ...["attempts", "lapses", "answers", "context", "begun_at", "ended_at"],
];

const DIGEST_BYTES = 32;

/** States that are sealed. */
const FINAL: ReadonlySet<Field> = new Set<Field>(["done", "failed", "cancelled"]);

/** The value of the column `sha256` of a final job: the seal of its row, then that of its result, which lists do not read. */
export function sealOfJob(row: Row): Uint8Array {
  const result = seal([anyColumn(row, "result")]);
  return Buffer.concat([sealOver(row, result), result]);
}

/** @throws RlmError `store_corrupt` naming a job that is not as it ended. A job that is not final has no seal. */
export function checkJobSeal(row: Row): void {
  const sealed = anyColumn(row, "sha256");
  if (sealed === null && !FINAL.has(anyColumn(row, "state"))) return;
  const isBytes = sealed instanceof Uint8Array && sealed.byteLength === 2 * DIGEST_BYTES;
  const result = isBytes ? sealed.subarray(DIGEST_BYTES) : null;
  const hasRow = isBytes && result && sealOver(row, result).equals(sealed.subarray(0, DIGEST_BYTES));
  const hasResult = result && (row.result === undefined || seal([row.result]).equals(result));
  if (!hasRow || !hasResult)
    throw corrupt(`job ${String(row.id)} of run ${String(row.run)} is not as it ended: its row is damaged`);
}

function sealOver(row: Row, result: Uint8Array): Buffer {
  const texts = SEALED_TEXTS.map((column) => textOf(anyColumn(row, column)));
  return seal([...texts, anyColumn(row, "asked"), anyColumn(row, "told"), result]);
}

function textOf(field: Field): string | null {
  return field === null ? null : String(field);
}

/** A server seals by itself: this is the body of a trigger that runs before a job's state is set. */
export const SEAL_FINAL = `
  DECLARE texts text; result bytea; one bytea;
  BEGIN
    IF NEW.state NOT IN ('done', 'failed', 'cancelled') THEN
      NEW.sha256 := NULL;
    ELSIF OLD.state NOT IN ('done', 'failed', 'cancelled') THEN
      SELECT string_agg(CASE WHEN field IS NULL THEN 'null 4' || chr(10) || 'null'
        ELSE 'string ' || octet_length(convert_to(field, 'UTF8')) || chr(10) || field END, '' ORDER BY at)
        FROM unnest(ARRAY[${SEALED_TEXTS.map((column) => `NEW.${column}::text`).join(", ")}]) WITH ORDINALITY AS t (field, at)
        INTO texts;
      result := sha256(${sealedBytes("NEW.result")});
      one := convert_to(texts, 'UTF8');
      one := one || ${sealedBytes("NEW.asked")};
      one := one || ${sealedBytes("NEW.told")};
      NEW.sha256 := sha256(one || ${sealedBytes("result")}) || result;
    END IF;
    RETURN NEW;
  END`;

function sealedBytes(column: string): string {
  return `CASE WHEN ${column} IS NULL THEN convert_to('null 4' || chr(10) || 'null', 'UTF8')
        ELSE convert_to('object ' || length(${column}) || chr(10), 'UTF8') || ${column} END`;
}
