import { RlmError } from "../../../runtime/errors.ts";
import { firstly } from "../../../runtime/remedies.ts";
import { thrownBy } from "../failure.ts";

/** Codes that the function `commit_step` raises. */
export const RAISED = { leaseLost: "BL001", baseMissing: "BL002", noJob: "BL003" } as const;

/** SQLSTATE of an error of the server, or the system's code of one of the connection. */
export function codeOf(error: unknown): string | null {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  return typeof code === "string" ? code : null;
}

/** True if the connection broke, so that the outcome of the statement is unknown. */
export function isCut(error: unknown): boolean {
  const code = codeOf(error);
  if (code === null) return error instanceof Error && /connection|terminated|timeout/i.test(error.message);
  // 08: connection exceptions. 57P01 to 57P03: the server is shut down, crashed, or starts.
  return /^(08|57P0[123])/.test(code) || SYSTEM.has(code);
}

const SYSTEM = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH"]);

/** The error that a caller of the store sees; it names the server without its password. */
export function serverError(found: unknown, name: string): unknown {
  const error = thrownBy(found);
  if (error instanceof RlmError || !(error instanceof Error)) return error;
  const code = codeOf(error);
  if (code === null && !isCut(error)) return found;
  return new RlmError("store_failed", `the store on ${name}: ${error.message}`, {
    suggestion: cure(code, error),
    cause: found,
  });
}

function cure(code: string | null, error: Error): string {
  if (code === "53100") return "Free space on the server's disk and try again.";
  if (code === "28P01" || code === "28000") return "Check the user and the password of the URL.";
  if (code === "3D000") return "Make the database, or name another one in the URL.";
  if (code === "42501") return "Let the user create schemas in the database: GRANT CREATE ON DATABASE … TO ….";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "Check the host of the URL.";
  if (/SSL|TLS/.test(error.message))
    return "Set `sslmode=disable` in the URL if nobody can read along on the way, or turn TLS on in the server (`ssl = on`).";
  if (/startup parameter/.test(error.message)) return "Connect to the server itself, not to a pooler before it.";
  if (isCut(error)) return "Start the server, or wait until it is back; what was committed is kept.";
  return `${firstly("verify")}; it checks the server.`;
}

export function leaseLost(session: string): RlmError {
  return new RlmError("lease_lost", `session ${session} was taken over by another process`, {
    suggestion: "Nothing was lost: that process continues it. Read the session again to see its progress.",
  });
}
