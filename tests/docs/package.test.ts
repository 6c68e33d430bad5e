import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { join, matchesGlob } from "node:path";
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

test("examples that the documents name are in the package", () => {
  const pages = ["README.md", "examples/README.md", ...globSync("docs/**/*.md", { cwd: ROOT })];
  const named = pages.flatMap((page) => {
    const text = readFileSync(join(ROOT, page), "utf8");
    const links = Array.from(text.matchAll(/\bexamples\/([\w./-]*\w)/g), ([, path = ""]) => path);
    const inFolder = Array.from(text.matchAll(/\]\(([\w./-]+)\)/g), ([, path = ""]) => path);
    return page === "examples/README.md" ? inFolder : links;
  });
  const paths = new Set(named.filter((path) => !/^(ask-|shared|node_modules|\.\.)/.test(path)));
  expect(paths.size).toBeGreaterThan(8);
  const packed = packageJson.files.filter((entry) => entry.startsWith("examples/"));
  const missing = [...paths].filter((path) => {
    const file = `examples/${path}`;
    return (
      existsSync(join(ROOT, file)) && !packed.some((entry) => matchesGlob(file, entry) || file.startsWith(`${entry}/`))
    );
  });
  expect(missing).toEqual([]);
  for (const path of paths)
    expect([path, statSync(join(ROOT, "examples", path), { throwIfNoEntry: false }) !== undefined]).toEqual([
      path,
      true,
    ]);
});
