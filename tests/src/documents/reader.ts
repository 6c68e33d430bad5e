import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { onTestFinished } from "vitest";
import { entryUrl, useEntriesOf } from "../../../src/entries.ts";
import { folderWith } from "../../support/tree.ts";

const GUARD = "../../../src/documents/guard-entry.ts";

/** Starts children from this code until the test ends, behind the guard that all have. Answers the folder in which it lies. */
export function useReader(code: string): string {
  const guard = stripTypeScriptTypes(readFileSync(new URL(GUARD, import.meta.url), "utf8"));
  const build = folderWith({
    "package.json": '{"type":"module"}',
    "src/documents/child-entry.js": code,
    "src/documents/guard-entry.js": guard,
  });
  const before = new URL("../", entryUrl("documents/child-entry"));
  useEntriesOf(pathToFileURL(join(build, "src/")));
  onTestFinished(() => useEntriesOf(before));
  return build;
}
