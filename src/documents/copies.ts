import { lstatSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAlive } from "../platform/is-alive.ts";

/** Private copies lie in folders that name their process, so that those of a killed one can be told. */
const PREFIX = "belay-documents-";
let isSwept = false;

/** Works with a copy of an original in a file (0600) in a folder of its own, which is removed afterwards. */
export async function withCopy<T>(
  files: Readonly<Record<string, Uint8Array>>,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  if (!isSwept) sweep();
  isSwept = true;
  const folder = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  try {
    for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes, { mode: 0o600 });
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Removes the copies that killed processes of this user have left. */
function sweep(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = /^belay-documents-(\d+)-/.exec(name)?.[1];
    const path = join(tmpdir(), name);
    if (pid === undefined || isAlive(Number(pid))) continue;
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.isDirectory() && stats.uid === process.getuid?.()) rmSync(path, { recursive: true, force: true });
  }
}
