import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isLocked, openFileLocks } from "../../../src/store/sqlite/file-locks.ts";
import { folderWith } from "../../support/tree.ts";

test("a lock whose file was removed is no lock of the file that others see, and removing a lock takes its file", () => {
  const path = join(folderWith(), "S.db");
  using locks = openFileLocks();
  using others = openFileLocks();
  const first = locks.take(path, 0);
  expect([first !== null, others.take(path, 0)]).toEqual([true, null]);
  expect(isLocked(path)).toBe(true);
  first?.remove();
  expect([existsSync(path), isLocked(path)]).toEqual([false, false]);
  // Somebody removes the file under the holder: whoever comes locks a new one, and keeps it.
  const old = locks.take(path, 0);
  rmSync(path);
  const next = others.take(path, 0);
  expect(next).not.toBeNull();
  old?.[Symbol.dispose]();
  expect(isLocked(path)).toBe(true);
  expect(locks.take(path, 0)).toBeNull();
  next?.remove();
});
