import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { onTestFinished } from "vitest";
import { entryUrl, useEntriesOf } from "../../src/entries.ts";
import { folderWith } from "../support/tree.ts";

/** Starts children from this code until the test ends. Answers the folder in which it lies. */
export function useReader(code: string): string {
  const build = folderWith({ "package.json": '{"type":"module"}', "src/context/documents/child-entry.js": code });
  const before = new URL("../../", entryUrl("context/documents/child-entry"));
  useEntriesOf(pathToFileURL(join(build, "src/")));
  onTestFinished(() => useEntriesOf(before));
  return build;
}
