import { randomUUID } from "node:crypto";
import { lstatSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RlmError } from "../../../runtime/errors.ts";
import { indexFolder } from "../../platform/home.ts";
import { makeFolder } from "../../platform/make-folder.ts";
import type { Texts } from "../port.ts";
import { openFileLocks } from "./leases.ts";
import { openSharedLock, type SharedLock } from "./shared-lock.ts";

/** The texts of a store, with the lock under which those that nothing needs are removed. */
export interface OpenTexts extends Disposable {
  readonly port: Texts;
  readonly lock: SharedLock;
}

/** The folder, in that of the store, of texts that are too large for rows. */
const FOLDER = "texts";
/** Removing files of many GB takes some seconds. */
const HOLD_MS = 60_000;

/** @param locks folder of locks */
export function openTextsIn(store: string, locks: string): OpenTexts {
  const folder = join(store, FOLDER);
  const lock = openSharedLock(join(locks, ".texts.db"));
  return {
    lock,
    port: { folder, isOwn: false, hold: () => heldFolder(folder, lock) },
    [Symbol.dispose]: () => lock[Symbol.dispose](),
  };
}

async function heldFolder(folder: string, lock: SharedLock): Promise<Disposable> {
  // Files that nothing needs are removed there.
  if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink()) {
    throw new RlmError("store_failed", `${folder} is a link, and a store has a folder of its own for texts`, {
      suggestion: "Remove the link.",
    });
  }
  const held = await lock.share(HOLD_MS);
  if (!held) {
    throw new RlmError("store_failed", `texts have been removed from ${folder} for ${HOLD_MS / 1000} s`, {
      suggestion: "Another process is at it: try again.",
    });
  }
  makeFolder(folder);
  return held;
}

/**
 * The texts of a store in memory, in a folder that goes with it. If the process is killed, the next
 * sweep of a store beside it finds that nobody has the folder's lock.
 */
export function openOwnTexts(): OpenTexts {
  const folder = join(indexFolder(process.env) ?? tmpdir(), `texts.${randomUUID()}`);
  const lock = openSharedLock(null);
  const locks = openFileLocks();
  let isMade = false;

  function drop(): void {
    rmSync(folder, { recursive: true, force: true });
    rmSync(`${folder}.db`, { force: true });
  }

  return {
    lock,
    port: {
      folder,
      isOwn: true,
      async hold() {
        if (!isMade) {
          makeFolder(join(folder, ".."));
          if (!locks.take(`${folder}.db`, 0)) throw new Error(`${folder}, which is new, is locked`);
          process.once("exit", drop);
          isMade = true;
        }
        return heldFolder(folder, lock);
      },
    },
    [Symbol.dispose]() {
      if (!isMade) return;
      drop();
      process.off("exit", drop);
      locks[Symbol.dispose]();
    },
  };
}
