import { dirname } from "node:path";
import { homeFolder } from "./home.ts";
import { keyPath } from "./user-key.ts";

/**
 * Folders in which Belay keeps sessions, what was typed, and the key with which it signs. Nothing is loaded from them, whatever the
 * roots are: a row of a table or a model may name any path.
 */
export function ownFolders(env: NodeJS.ProcessEnv): readonly string[] {
  return [homeFolder(env), dirname(keyPath(env))];
}
