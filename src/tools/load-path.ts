import { isAbsolute, resolve } from "node:path";
import { Type } from "typebox";
import { RlmError } from "../../runtime/index.ts";
import type { RecordedCall } from "./define.ts";

export const PATH = Type.String({ description: "Absolute path" });

/** Paths of tools are absolute (spec §6.1). @throws RlmError `path_outside_sandbox` */
export function checkPath(path: string, cwd: string): void {
  if (isAbsolute(path)) return;
  throw new RlmError("path_outside_sandbox", `${path || "the empty path"} is not absolute`, {
    suggestion: `Use ${resolve(cwd, path)}`,
  });
}

/** The answer of a load whose record is all there is. */
export function loadedFrom({ stats }: Pick<RecordedCall, "stats">): object {
  return { stats };
}
