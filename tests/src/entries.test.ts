import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { ENTRIES as BUILT } from "../../scripts/bundle.ts";
import { ENTRIES, entryUrl } from "../../src/entries.ts";

test.each(ENTRIES)("%s has a file in the checkout and in a build", (entry) => {
  expect(existsSync(entryUrl(entry))).toBe(true);
  expect(BUILT).toContain(`src/${entry}`);
});
