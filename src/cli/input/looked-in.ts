import { resolve } from "node:path";
import { LIMITS, type LoadSource } from "../../index.ts";
import type { Arguments } from "../flags/arguments.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { checkPaths, contextSource } from "./sources.ts";

/** The words of a search, and its paths. */
export interface LookedFor {
  readonly text: string;
  /** As they were typed; `-` is stdin. */
  readonly paths: readonly string[];
}

/** The first argument, and the paths behind it: without one it is this folder. @throws UsageError */
export function lookedFor(args: Arguments, command: string, what: string): LookedFor {
  const [text = "", ...paths] = args.positionals;
  if (text.trim() === "") throw new UsageError(`there is no ${what}`, commandLine(["help", command]));
  return { text, paths: paths.length > 0 ? paths : ["."] };
}

/** The sources that the paths are loaded as, one after the other: stdin, then all files. @throws RlmError */
export async function lookedIn({ paths }: LookedFor, signal: AbortSignal): Promise<readonly LoadSource[]> {
  const places = paths.filter((path) => path !== "-");
  checkPaths(places.filter((path) => !/[*?[{]/.test(path)));
  const typed = places.length < paths.length ? [await contextSource("-", signal)] : [];
  return places.length > 0 ? [...typed, { paths: places, maxFiles: LIMITS.files }] : typed;
}

/** Folders that may be read for it. */
export const rootsOf = ({ paths }: LookedFor) => [process.cwd(), ...paths.map((path) => resolve(path))];
