import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/** Contents by relative path; a path that ends in `/` makes an empty folder. */
export type Tree = Readonly<Record<string, string | Uint8Array>>;

/** Empty files at these paths. */
export function empty(...paths: readonly string[]): Tree {
  return Object.fromEntries(paths.map((path) => [path, ""]));
}

/**
 * Makes a folder of the test's own, removed when the test ends. Its own path is free of symlinks.
 * @param links targets of symlinks, by relative path
 */
export function folderWith(tree: Tree = {}, links: Readonly<Record<string, string>> = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "belay-test-")));
  // A thread of the test may still write to it.
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  grow(folder, tree);
  for (const [path, target] of Object.entries(links)) symlinkSync(target, join(folder, path));
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
