import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { imageFormat } from "../../../runtime/images/image-compat.ts";
import { freshOf, openMachines, readFresh } from "../../../runtime/threads/machines.ts";
import { ROOT } from "../../../scripts/process.ts";
import { openStore } from "../../../src/store/index.ts";
import { BUNDLED } from "../../support/command.ts";

const KEPT = freshOf(pathToFileURL(join(BUNDLED, "src/machine-thread-entry.js")));

test("the fresh guest of a build is the one that its sources make, and a store keeps it whole", async () => {
  const kept = readFresh(KEPT, imageFormat());
  const entry = pathToFileURL(join(ROOT, "src/machine-thread-entry.ts"));
  const { seat, baseline: made } = await openMachines().take(entry);
  await seat.leave(false);
  expect(kept?.image.id).toBe(made.image.id);
  expect(kept?.image.meta).toEqual(made.image.meta);
  expect(Buffer.compare(kept?.image.memory ?? Buffer.alloc(0), made.image.memory)).toBe(0);

  await using store = await openStore(null);
  await store.putBaseline(made.image.id, made.image.meta, kept?.pages ?? []);
  const { memory } = await store.image(made.image.id);
  expect(Buffer.compare(memory, made.image.memory)).toBe(0);
});

test("a fresh guest that is missing, damaged or of another build is made anew", async () => {
  const folder = mkdtempSync(join(tmpdir(), "belay-fresh-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const format = imageFormat();
  const file = pathToFileURL(join(folder, "machine-thread-entry.fresh"));
  expect(readFresh(file, format)).toBeNull();
  const bytes = readFileSync(KEPT);
  for (const at of [10, 1000, 400_000, bytes.length - 1]) {
    const damaged = Buffer.from(bytes);
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    writeFileSync(file, damaged);
    expect(readFresh(file, format)).toBeNull();
  }
  writeFileSync(file, bytes.subarray(0, -1));
  expect(readFresh(file, format)).toBeNull();
  writeFileSync(file, bytes);
  expect(readFresh(file, format)).not.toBeNull();
  expect(readFresh(file, { ...format, bridge: format.bridge + 1 })).toBeNull();
});
