import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { ROOT } from "../../scripts/process.ts";

/** Packages that Pi gives its extensions. From 1.0 on it warns at every start of those that a package installs. */
const HOST_PACKAGES = [
  ...["pi-agent-core", "pi-ai", "pi-coding-agent", "pi-tui"].flatMap((name) => [
    `@earendil-works/${name}`,
    `@mariozechner/${name}`,
  ]),
  "@sinclair/typebox",
  "typebox",
];

test("no dependency has the name of a package that Pi provides", () => {
  const names = Object.keys(packageJson.dependencies);
  expect(names.filter((name) => HOST_PACKAGES.includes(name))).toEqual([]);
});

test("the entry that Pi loads is packed, in a folder with the name that Pi lists", () => {
  const [entry = ""] = packageJson.pi.extensions;
  expect(entry).toMatch(/\/belay\/index\.js$/);
  expect(existsSync(join(ROOT, entry))).toBe(true);
  expect(packageJson.files).toContain("extensions");
});
