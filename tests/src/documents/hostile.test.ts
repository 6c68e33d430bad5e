import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { expect, test } from "vitest";
import { mustRun, ROOT } from "../../../scripts/process.ts";
import { RSS_BYTES, timeFor } from "../../../src/documents/messages.ts";
import { folderWith } from "../../support/tree.ts";
import { REFUSED, TAMED } from "./hostile.ts";
import { ORIGINALS } from "./originals.ts";

const made = (all: Readonly<Record<string, readonly [make: () => string | Uint8Array, ...unknown[]]>>) =>
  Object.fromEntries(Object.entries(all).map(([name, [make]]) => [name, make()]));

const Measured = v.object({
  files: v.array(v.object({ name: v.string(), ms: v.number(), memory: v.number() })),
  growth: v.number(),
  texts: v.array(v.tuple([v.string(), v.string()])),
  skipped: v.array(v.object({ path: v.string(), reason: v.string() })),
});

test("hostile originals end within their time and memory, outside of the process that loads the others", {
  timeout: 120_000,
}, async () => {
  const plain = { "a.txt": "plain", "report.pdf": ORIGINALS["report.pdf"]?.() ?? "" };
  const all: Readonly<Record<string, string | Uint8Array>> = { ...made(REFUSED), ...made(TAMED), ...plain };
  const [before, cwd, kept, temporary] = [folderWith(plain), folderWith(all), folderWith(), folderWith()];
  const words = [fileURLToPath(new URL("growth.ts", import.meta.url)), before, cwd, kept];
  const env = { ...process.env, TMPDIR: temporary };
  const { stdout } = await mustRun(process.execPath, words, { cwd: ROOT, env });
  const { files, growth, texts, skipped } = v.parse(v.pipe(v.string(), v.parseJson(), Measured), stdout);
  for (const { name, ms, memory } of files) {
    // On a busy computer its end is seen late.
    expect(ms, name).toBeLessThan(10 * timeFor(Buffer.byteLength(all[name] ?? "")) + 20_000);
    // A reader that has too much is ended at the next look.
    expect(memory, name).toBeLessThan(1.25 * RSS_BYTES);
  }
  expect(growth).toBeLessThanOrEqual(100 * 2 ** 20);
  const tamed = Object.values(TAMED);
  expect(texts.map(([id]) => id).toSorted()).toEqual(
    ["a.txt", "report.pdf", ...tamed.flatMap(([, ids]) => ids)].toSorted(),
  );
  const reasons = new Map(skipped.map(({ path, reason }) => [path, reason]));
  for (const [name, [, why]] of Object.entries(REFUSED)) expect(reasons.get(name), name).toMatch(why);
  const members = skipped.filter(({ path }) => path.includes("/"));
  expect(members.map(({ path, reason }) => `${path}: ${reason}`).toSorted()).toEqual(
    tamed.flatMap(([, , left]) => left).toSorted(),
  );
  // No entity is expanded, and no file is read.
  expect(new Map(texts).get("entities.docx")?.trim()).toBe("start &j; &f; end");
  expect(readdirSync(cwd)).toEqual(Object.keys(all).toSorted());
  expect(readdirSync(temporary)).toEqual([]);
});
