import { parse } from "node:path";
import { canonical } from "../context/index.ts";
import type { SessionSource } from "./session-source.ts";

/**
 * Folders that may be read, and the one that the session belongs to.
 *
 * @param ask gives the client's folders; null if it has none to tell. It never rejects.
 */
export function openServerRoots(source: SessionSource, ask: () => Promise<readonly string[] | null>) {
  let asked: Promise<readonly string[] | null> | null = null;
  let owned: Promise<string> | null = null;

  /** Folders that may be read now: the user's, else the client's, else the working folder. */
  async function now(): Promise<readonly string[]> {
    if (source.roots.length > 0) return source.roots;
    asked ??= ask();
    const given = await asked;
    return given && given.length > 0 ? given : workingRoots(source);
  }
  /** The first of them; else the working folder. */
  const first = async () => (await now())[0] ?? source.cwd;
  return {
    now,
    first,
    /** The folder by which sessions are found: the first root of the first call, whatever becomes of the roots. */
    owner(): Promise<string> {
      owned ??= first().then((folder) => canonical(folder));
      return owned;
    },
    /** The client's folders have changed: it is asked again. */
    changed(): void {
      asked = null;
    },
  };
}

/** Clients start servers in `/` or in the home folder if no project is open: these are not meant to be read. */
function workingRoots({ cwd, home }: SessionSource): readonly string[] {
  const folder = canonical(cwd);
  return folder === parse(folder).root || folder === canonical(home) ? [] : [cwd];
}
