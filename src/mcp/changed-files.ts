import type { Clock } from "../../runtime/index.ts";
import type { Session } from "../session/index.ts";
import { changedSentence } from "../tools/index.ts";

/** Looking at the files takes at most this share of the time, unless it is quick. */
const SHARE = 0.05;
const QUICK_MS = 100;

/** Warns of files that differ from what is loaded. A large folder is not looked at with every call. */
export function openChangedFiles(clock: Clock) {
  let of: string = "";
  let next: number = 0;
  let told: readonly string[] = [];
  return {
    /** @param cwd names are relative to it */
    async warnings(session: Session | null, cwd: string): Promise<readonly string[]> {
      const hash = session?.stats()?.context_hash;
      if (!session || hash === undefined) return [];
      const begun = clock.monotonic();
      const context = `${session.id} ${hash}`;
      if (context === of && begun < next) return told;
      // It is a remark: a call does not fail for it.
      const files = await session.changedFiles().catch(() => []);
      const ended = clock.monotonic();
      const took = ended - begun;
      [of, next] = [context, ended + (took < QUICK_MS ? 0 : took / SHARE)];
      const sentence = changedSentence(files, cwd);
      told = sentence === null ? [] : [`context_changed: ${sentence}; rlm_load_append with its path adds them`];
      return told;
    },
  };
}
