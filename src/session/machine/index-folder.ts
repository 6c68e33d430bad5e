import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The folder of a session's search indexes. A temporary one is removed when it is disposed of. */
export interface IndexFolder extends AsyncDisposable {
  path(): Promise<string>;
}

/** @param kept a folder that stays. Without one a temporary folder is made when it is first asked for. */
export function openIndexFolder(kept: string | undefined): IndexFolder {
  let temporary: Promise<string> | undefined;
  return {
    async path() {
      if (kept !== undefined) return kept;
      temporary ??= mkdtemp(join(tmpdir(), "belay-"));
      return temporary;
    },
    async [Symbol.asyncDispose]() {
      const made = await temporary?.catch(() => undefined);
      if (made !== undefined) await rm(made, { recursive: true, force: true });
    },
  };
}
