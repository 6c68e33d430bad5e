import { hash } from "node:crypto";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Context } from "../../../src/context/context.ts";
import { checkRoom } from "../../../src/context/large-writing.ts";
import { load } from "../../../src/context/load/load.ts";
import type { LoadOptions, LoadProgress } from "../../../src/context/load/reading.ts";
import { folderWith } from "../../support/tree.ts";

const MB = 2 ** 20;

test("a file of over 100 MB is a context in files, with the facts that a small one has", async () => {
  const folder = folderWith({ "small.log": "first\n" });
  const line = "2024-05-01 déployé 🎉 ok\n";
  const bytes = Buffer.from(line.repeat(Math.ceil((100 * MB) / Buffer.byteLength(line))));
  writeFileSync(join(folder, "big.log"), bytes);
  const options = optionsFor(folder);
  const told: LoadProgress[] = [];
  const watched = { ...options, onProgress: (progress: LoadProgress) => void told.push(progress) };
  const context = await load({ kind: "path", path: "big.log" }, watched);
  const { text } = context;
  // What it takes on disk is told before it is taken.
  const disk = { files: 1, bytes: bytes.length, texts: options.folder };
  expect(told.filter(({ files, texts }) => files > 0 || texts !== undefined)[0]).toEqual(disk);
  expect(told.filter(({ texts }) => texts !== undefined)).toHaveLength(1);
  expect(text.large).toBeDefined();
  expect(text.bytes).toBe(bytes.length);
  expect(text.length).toBe((bytes.length / Buffer.byteLength(line)) * line.length);
  expect(context).toMatchObject({
    hash: hash("sha256", bytes),
    parts: [{ hash: hash("sha256", bytes), bytes: bytes.length }],
    stats: { document_count: 1, line_count: bytes.length / Buffer.byteLength(line), length_chars: text.length },
  });
  expect([...context.documents]).toEqual([
    { id: "big.log", path: join(folder, "big.log"), start: 0, end: text.length, size: text.length },
  ]);
  expect(text.slice(text.length - line.length, text.length)).toBe(line);
  // An append to a small context makes the same files.
  const small = await load({ kind: "path", path: "small.log" }, options);
  const both = await load({ kind: "path", path: "big.log" }, options, small);
  const lead = `\n\n===== APPENDED: ${join(folder, "big.log")} =====\n\n`;
  expect(both.text.slice(0, 6 + lead.length + line.length)).toBe(`first\n${lead}${line}`);
  const parts = [hash("sha256", "first\n"), hash("sha256", Buffer.concat([Buffer.from(lead), bytes]))];
  expect(both.parts.map((part) => part.hash)).toEqual(parts);
  expect(both.hash).toBe(hash("sha256", Buffer.from(`\xff${parts.join("\n")}`, "latin1")));
  expect(both.stats.document_count).toBe(2);
  expect(left(options.folder)).toEqual([]);
  close(context, both);
});

test("a text for which the disk has no room is refused before it is written", () => {
  const texts = join(folderWith(), "texts");
  expect(() => checkRoom(texts, 1)).not.toThrow();
  expect(() => checkRoom(texts, 2 ** 60)).toThrow(
    /in \S+texts: the text takes 1099511627776\.0 MB, and its disk has .* MB left$/,
  );
});

/** Files in the folder of texts that were not written to their end. */
const left = (folder: string) => readdirSync(folder).filter((name) => name.endsWith(".tmp"));

function close(...contexts: readonly Context[]): void {
  for (const { text } of contexts) text[Symbol.dispose]();
}

function optionsFor(folder: string): LoadOptions & { readonly folder: string } {
  const texts = folderWith();
  return {
    roots: [folder],
    cwd: folder,
    most: { files: 1_000_000, bytes: 16_384 * MB },
    texts: async () => texts,
    folder: texts,
  };
}
