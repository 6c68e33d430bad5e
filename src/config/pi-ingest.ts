import * as v from "valibot";
import { LIMITS } from "../../runtime/index.ts";

const FILES = `must be a whole number of files from 1 to ${LIMITS.files}`;
const BYTES = `must be a whole number of bytes from 1 to ${LIMITS.contextBytes}`;

const upTo = (most: number, message: string) =>
  v.pipe(v.number(message), v.safeInteger(message), v.minValue(1, message), v.maxValue(most, message));

/** Limits of one rlm_ingest. */
export const INGEST_ENTRIES = {
  max_ingest_files: v.exactOptional(upTo(LIMITS.files, FILES)),
  max_ingest_bytes: v.exactOptional(upTo(LIMITS.contextBytes, BYTES)),
};

export const INGEST_DEFAULTS = { max_ingest_files: 1000, max_ingest_bytes: 100_000_000 } as const;
