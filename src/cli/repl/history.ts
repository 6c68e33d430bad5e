import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readBoundedFile } from "../../platform/bounded-file.ts";
import { folderProblem, homeFolder } from "../../platform/home.ts";
import { makeFolder } from "../../platform/make-folder.ts";

export const HISTORY_LINES = 1000;
/** More than as many lines take. */
const HISTORY_BYTES = 16 * 2 ** 20;

/** Lines typed in earlier REPLs, kept in `history` of the store folder, readable by its owner alone. */
export interface History {
  /** Newest first, as readline takes them. */
  readonly lines: string[];
  add(line: string): void;
}

/** A history that cannot be kept is none, without complaint: `belay doctor` says why. */
export function openHistory(env: NodeJS.ProcessEnv): History {
  const folder = homeFolder(env);
  const path = join(folder, "history");
  const isKept = folderProblem(folder) === null;
  const lines = isKept ? read(path) : [];
  let last = lines.at(-1);
  return {
    lines: lines.toReversed(),
    add(line) {
      if (!isKept || line.trim() === "" || line === last) return;
      last = line;
      attempt(() => {
        makeFolder(folder);
        appendFileSync(path, `${line}\n`, { mode: 0o600 });
      });
    },
  };
}

function read(path: string): string[] {
  const found = readBoundedFile(path, { maxBytes: HISTORY_BYTES, followsLink: true });
  const all = (found && "text" in found ? found.text : "").split("\n").filter((line) => line !== "");
  const kept = all.slice(-HISTORY_LINES);
  // It is only ever appended to, so it is cut here.
  if (all.length > 2 * HISTORY_LINES) attempt(() => writeFileSync(path, `${kept.join("\n")}\n`, { mode: 0o600 }));
  return kept;
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
