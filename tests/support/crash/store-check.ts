import { globSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Store } from "../../../src/store/index.ts";
import { findingsIn } from "../../../src/store/whole-reads.ts";

/** What SQLite and the store itself find wrong in this folder: a line each. That a session is interrupted is not wrong. */
export async function findingsInStore(folder: string, store: Pick<Store, "verify">): Promise<string[]> {
  const files = globSync("*.db", { cwd: folder });
  if (files.length === 0) return [`no database in ${folder}`];
  const found = files.flatMap((file) => integrity(join(folder, file)).map((line) => `${file}: ${line}`));
  return [...found, ...(await findingsIn(store)).filter((line) => !line.startsWith("info: "))];
}

function integrity(file: string): string[] {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const lines = database
      .prepare("PRAGMA integrity_check")
      .all()
      .map((row) => String(row.integrity_check));
    return lines.filter((line) => line !== "ok");
  } finally {
    database.close();
  }
}
