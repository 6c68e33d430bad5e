import { statSync } from "node:fs";
import { addAbortSignal } from "node:stream";
import { megabytes } from "../figures.ts";
import { errorCode } from "../home.ts";
import { LIMITS, type LoadSource, RlmError } from "../index.ts";

/** Checks before anything is loaded that each path leads somewhere. @throws RlmError `path_not_found` */
export function checkPaths(paths: readonly string[]): void {
  for (const path of paths) {
    if (path === "-") continue;
    try {
      statSync(path);
    } catch (cause) {
      const code = errorCode(cause);
      const problem = code === "ENOENT" || code === "ENOTDIR" ? "does not exist" : `cannot be reached (${code})`;
      const suggestion = "Check the spelling of the path.";
      throw new RlmError("path_not_found", `${path} ${problem}`, { suggestion, cause });
    }
  }
}

/** What `-c` names: a path, or stdin as the document `stdin`. @throws RlmError `context_too_large` */
export async function contextSource(path: string, signal: AbortSignal): Promise<LoadSource> {
  if (path !== "-") return path;
  const text = await readStdin(LIMITS.contextBytes, signal);
  if (text) return { text, name: "stdin" };
  throw new RlmError("context_too_large", `stdin holds more than ${megabytes(LIMITS.contextBytes)}`, {
    suggestion: "Pass a part of it, or split it into files and load a folder.",
  });
}

/** All of stdin, or undefined where it holds more than `limit` bytes. Rejects with the signal's abort. */
export async function readStdin(limit: number, signal: AbortSignal): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of addAbortSignal(signal, process.stdin)) {
    chunks.push(Buffer.from(chunk));
    size += chunk.length;
    if (size > limit) return undefined;
  }
  return Buffer.concat(chunks);
}
