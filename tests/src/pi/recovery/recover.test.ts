import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { endTornLine } from "../../../../src/pi/recovery/recover.ts";
import { folderWith } from "../../../support/tree.ts";

test.for([
  ['{"a":1}\n{"b', '{"a":1}\n{"b\n'],
  ['{"a":1}\n', '{"a":1}\n'],
  ["", ""],
])("a file that ends in %j is left as %j", ([before, after]) => {
  const path = join(folderWith({ "s.jsonl": before ?? "" }), "s.jsonl");
  endTornLine(path);
  expect(readFileSync(path, "utf8")).toBe(after);
});

test("a session without a file is left alone", () => {
  const folder = folderWith();
  expect(() => {
    endTornLine(undefined);
    endTornLine(join(folder, "not-yet.jsonl"));
  }).not.toThrow();
});
