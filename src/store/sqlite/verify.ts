import { RlmError } from "../../../runtime/errors.ts";
import { messageOf } from "../../platform/errors.ts";
import { thrownBy } from "../failure.ts";
import type { VerifiedPage, VerifyPart } from "../port.ts";
import { type Row, text } from "../rows/seal.ts";
import { verify as verifyPart } from "../sql/verify.ts";
import type { Database } from "./database.ts";
import type { Leases } from "./lease.ts";

/** Checks a page of a part. If the file itself is damaged, each part may be unreadable in its own way: it ends with that line. */
export function verify(database: Database, leases: Leases, part: VerifyPart, after: string | null): VerifiedPage {
  const own = {
    busy: (session: Row) => leases.busy(text(session, "id")),
    file: () => integrity(database),
    messageOf: lineOf,
  };
  const findings: string[] = [];
  try {
    return { next: database.perform(verifyPart(part, after, own, findings)), findings };
  } catch (error) {
    return { next: null, findings: [...findings, lineOf(error)] };
  }
}

function integrity(database: Database): string[] {
  const lines = database.all("PRAGMA integrity_check").map((row) => text(row, "integrity_check"));
  return lines.filter((line) => line !== "ok").map((line) => `database: ${line}`);
}

function lineOf(error: unknown): string {
  return error instanceof RlmError ? error.message : `database: ${messageOf(thrownBy(error))}`;
}
