import { expect, test } from "vitest";
import config from "../../vitest.config.ts";

/** Settings by which Vite or Vitest would run something else than the sources. */
const REWRITING = ["plugins", "alias", "define", "esbuild", "oxc", "transform"];

test("sources are tested as they are written: no setting rewrites them", () => {
  const settings = keysIn(config);
  expect(settings).toEqual(expect.arrayContaining(["projects", "setupFiles"]));
  expect(settings.filter((name) => REWRITING.includes(name))).toEqual([]);
});

function keysIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inside]) => [name, ...keysIn(inside)]);
}
