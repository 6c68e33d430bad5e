import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { generatedFiles } from "../../scripts/docs/files.ts";
import { ROOT } from "../../scripts/process.ts";

// Generating runs the example of every builtin: a failing one rejects here by its builtin's name.
const generated = await generatedFiles();

describe("generated files are those in the checkout (else: npm run docs)", () => {
  test.each([...generated.keys()])("%s", async (path) => {
    expect(await readFile(join(ROOT, path), "utf8")).toBe(generated.get(path));
  });
});
