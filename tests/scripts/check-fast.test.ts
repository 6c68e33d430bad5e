import { expect, test } from "vitest";
import { outermost, testsOf } from "../../scripts/check-fast.ts";

test("a changed file has its own tests run, or those of the nearest folder that has some", () => {
  expect(testsOf("src/platform/signals.ts")).toBe("tests/src/platform/signals.test.ts");
  expect(testsOf("src/platform/processes.ts")).toBe("tests/src/platform");
  expect(testsOf("runtime/limits.ts")).toBe("tests/runtime/limits.test.ts");
  expect(testsOf("tests/src/entries.test.ts")).toBe("tests/src/entries.test.ts");
  expect(testsOf("docs/batch.md")).toBe("tests/docs");
  expect(testsOf(".gitignore")).toBeNull();
});

test("tests of a folder that is run are not named again", () => {
  expect(outermost(["tests/runtime/heap.test.ts", "tests/runtime", "tests/docs"])).toEqual([
    "tests/docs",
    "tests/runtime",
  ]);
});
