import { once } from "node:events";
import { chmodSync, existsSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { makeFolder } from "../../../src/platform/make-folder.ts";
import { folderWith } from "../../support/tree.ts";

const modeOf = (path: string) => statSync(path).mode & 0o777;

test("every missing level is made, for its owner alone, and the uppermost is named", () => {
  const root = folderWith();
  expect(makeFolder(join(root, "a/b/c"))).toBe(join(root, "a"));
  expect(makeFolder(join(root, "a/b/d"))).toBe(join(root, "a/b/d"));
  expect(["a", "a/b", "a/b/c", "a/b/d"].map((name) => modeOf(join(root, name)))).toEqual([0o700, 0o700, 0o700, 0o700]);
});

test("a folder that is there stays as it is, behind a link too", () => {
  const root = folderWith({ "there/": "" });
  chmodSync(join(root, "there"), 0o755);
  symlinkSync(join(root, "there"), join(root, "link"));
  expect([makeFolder(join(root, "there")), makeFolder(join(root, "link"))]).toEqual([null, null]);
  expect(modeOf(join(root, "there"))).toBe(0o755);
});

test("what cannot be made is refused: under a file, behind a link that leads nowhere", () => {
  const root = folderWith({ file: "" });
  symlinkSync(join(root, "nowhere"), join(root, "link"));
  for (const path of ["file", "file/x", "link", "link/x"]) {
    expect(() => makeFolder(join(root, path)), path).toThrow(/E(EXIST|NOTDIR)/);
  }
  expect(existsSync(join(root, "nowhere"))).toBe(false);
});

test("threads that make the same folders at once all have them", async () => {
  const root = folderWith();
  const module = new URL("../../../src/platform/make-folder.ts", import.meta.url).href;
  const code = `
    const { workerData: { root, arrived }, parentPort } = require("node:worker_threads");
    import(${JSON.stringify(module)}).then(({ makeFolder }) => {
      for (let round = 1; round <= 300; round++) {
        Atomics.add(arrived, 0, 1);
        Atomics.notify(arrived, 0);
        for (let seen; (seen = Atomics.load(arrived, 0)) < 2 * round; ) Atomics.wait(arrived, 0, seen);
        makeFolder(root + "/" + round + "/a/b");
      }
      parentPort.postMessage("made");
    });`;
  const workerData = { root, arrived: new Int32Array(new SharedArrayBuffer(4)) };
  const threads = [1, 2].map(() => new Worker(code, { eval: true, workerData }));
  const said = await Promise.all(threads.map((thread) => once(thread, "message"))).finally(() =>
    Promise.all(threads.map((thread) => thread.terminate())),
  );
  expect(said).toEqual([["made"], ["made"]]);
});
