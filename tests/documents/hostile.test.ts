import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { mustRun, ROOT } from "../../scripts/process.ts";
import { load } from "../../src/context/load/load.ts";
import { folderWith } from "../support/tree.ts";
import { REFUSED, TAMED } from "./hostile.ts";
import { ORIGINALS } from "./originals.ts";

const made = (all: Readonly<Record<string, readonly [make: () => string | Uint8Array, ...unknown[]]>>) =>
  Object.fromEntries(Object.entries(all).map(([name, [make]]) => [name, make()]));

test("hostile originals end within their limits, and the other files of their folder are loaded", {
  timeout: 120_000,
}, async () => {
  const hostile = { ...made(REFUSED), ...made(TAMED) };
  const cwd = folderWith({ ...hostile, "a.txt": "plain", "report.pdf": ORIGINALS["report.pdf"]?.() ?? "" });
  const inside = readdirSync(cwd);
  const temporary = folderWith();
  vi.stubEnv("TMPDIR", temporary);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { documents, stats, text } = await load({ kind: "path", path: "." }, { cwd, roots: [cwd] });
  const tamed = Object.values(TAMED);
  expect(documents.map(({ id }) => id)).toEqual(["a.txt", "report.pdf", ...tamed.flatMap(([, ids]) => ids)].toSorted());
  const reasons = new Map(stats.skipped.files.map(({ path, reason }) => [path, reason]));
  for (const [name, [, why]] of Object.entries(REFUSED)) expect(reasons.get(name), name).toMatch(why);
  const members = stats.skipped.files.filter(({ path }) => path.includes("/"));
  expect(members.map(({ path, reason }) => `${path}: ${reason}`)).toEqual(
    tamed.flatMap(([, , skipped]) => skipped).toSorted(),
  );
  const words = documents.find(({ id }) => id === "entities.docx");
  // No entity is expanded, and no file is read.
  expect(text.slice(words?.start ?? 0, words?.end ?? 0).trim()).toBe("start &j; &f; end");
  expect(readdirSync(cwd)).toEqual(inside);
  expect(readdirSync(temporary)).toEqual([]);
});

/** Each unpacks to 1 GB. */
const HEAVY = ["bomb.pdf", "bomb.gz"];

test("the memory that a hostile original takes is that of another process", { timeout: 120_000 }, async () => {
  const plain = { "a.txt": "plain", "report.pdf": ORIGINALS["report.pdf"]?.() ?? "" };
  const hostile = Object.fromEntries(HEAVY.map((name) => [name, REFUSED[name]?.[0]() ?? ""]));
  const folders = [folderWith(plain), folderWith({ ...plain, ...hostile })];
  const { stdout } = await mustRun(
    process.execPath,
    [fileURLToPath(new URL("growth.ts", import.meta.url)), ...folders],
    { cwd: ROOT },
  );
  const { skipped, growth } = JSON.parse(stdout);
  expect(skipped).toBe(HEAVY.length);
  expect(growth).toBeLessThanOrEqual(100 * 2 ** 20);
});
