import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/** Contents by relative path; a path that ends in `/` makes an empty folder. */
export type Tree = Readonly<Record<string, string | Uint8Array>>;

/** A folder of the test's own with these files, free of symlinks and removed when the test ends. */
export function folderWith(tree: Tree = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "belay-test-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  grow(folder, tree);
  return folder;
}

/** Adds files to a folder. */
export function grow(folder: string, tree: Tree): void {
  for (const [path, content] of Object.entries(tree)) {
    const absolute = join(folder, path);
    mkdirSync(path.endsWith("/") ? absolute : dirname(absolute), { recursive: true });
    if (!path.endsWith("/")) writeFileSync(absolute, content);
  }
}
