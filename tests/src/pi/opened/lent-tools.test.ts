import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lentTools } from "../../../../src/pi/opened/lent-tools.ts";
import { folderWith } from "../../../support/tree.ts";

const { signal } = new AbortController();

test("Pi's own tools work in the project for a sub-agent", async () => {
  const folder = folderWith({ "a.txt": "one\n" });
  const [bash, write, edit] = lentTools(folder);
  expect([bash, write, edit].map((tool) => [tool?.name, tool?.sideEffects, tool?.parameters.type])).toEqual([
    ["bash", true, "object"],
    ["write", true, "object"],
    ["edit", true, "object"],
  ]);
  expect((await bash?.run({ command: "cat a.txt" }, signal))?.text).toContain("one");
  await write?.run({ path: "b.txt", content: "two\n" }, signal);
  await edit?.run({ path: "b.txt", edits: [{ oldText: "two", newText: "three" }] }, signal);
  expect(readFileSync(join(folder, "b.txt"), "utf8")).toBe("three\n");
});
