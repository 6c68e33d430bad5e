import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../../../runtime/index.ts";
import { openSessionWith } from "../../../../src/session/session.ts";
import { folderWith } from "../../../support/tree.ts";

/** Files that were changed less than two seconds ago count as changed: for this clock they are older. */
const LATER = { ...systemClock, now: () => systemClock.now() + 60_000 };

test("another session over the same store takes unchanged files from it, and a change is seen", async () => {
  const files = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`${n}.txt`, `file ${n}\n`]));
  const [folder, store] = [folderWith(files), folderWith()];
  async function loadOnce() {
    let read = 0;
    const onProgress = (progress: { kind: string; files?: number }) => {
      read = Math.max(read, progress.files ?? 0);
    };
    const options = { roots: [folder], cwd: folder, store, indexDir: join(store, "index"), onProgress };
    await using session = await openSessionWith(options, { clock: LATER });
    const { stats } = await session.load(folder);
    const found = await session.exec('find("file 7").matches.length');
    return { read, stats, found: found.result_json };
  }
  const first = await loadOnce();
  expect(first).toMatchObject({ found: 1, stats: { document_count: 40 } });
  expect(first.read).toBeGreaterThan(0);
  expect(await loadOnce()).toEqual({ ...first, read: 0 });
  writeFileSync(join(folder, "7.txt"), "file 8\n");
  expect(await loadOnce()).toMatchObject({ found: 0, read: first.read });
});
