import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The folder of a session's search indexes. */
export type IndexFolder = ReturnType<typeof openIndexFolder>;

/** @param kept a folder that stays; without one a temporary folder is made when it is first asked for, and removed. */
export function openIndexFolder(kept: string | undefined) {
  let temporary: Promise<string> | undefined;
  return {
    async path(): Promise<string> {
      if (kept !== undefined) return kept;
      temporary ??= mkdtemp(join(tmpdir(), "belay-"));
      return temporary;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      const made = await temporary?.catch(() => undefined);
      if (made !== undefined) await rm(made, { recursive: true, force: true });
    },
  };
}
