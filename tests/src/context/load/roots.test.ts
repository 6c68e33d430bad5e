import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, renameSync, symlinkSync, truncateSync } from "node:fs";
import { dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  canonical,
  isAllowed,
  locate,
  MOVED_OUT,
  openRoots,
  readFolder,
  withFile,
} from "../../../../src/context/load/roots.ts";
import { isWithin } from "../../../../src/platform/paths.ts";
import { folderWith } from "../../../support/tree.ts";

test("a root that is a symlink is resolved once; the files below are found under it", () => {
  const folder = folderWith({ "repo/file.txt": "x" }, { link: "repo" });
  const roots = openRoots(["link"], folder);
  expect(roots).toEqual([join(folder, "repo")]);
  expect(locate(roots, "link/file.txt", folder)).toBe(join(folder, "repo/file.txt"));
});

test("a root that is gone holds nothing, keeps no other root from being read, and is named", () => {
  const folder = folderWith({ "repo/file.txt": "a", "other.txt": "b" });
  const roots = openRoots(["gone", "repo"], folder);
  expect(locate(roots, "repo/file.txt", folder)).toBe(join(folder, "repo/file.txt"));
  expect(locate(roots, "gone/file.txt", folder)).toBe(join(folder, "gone/file.txt"));
  const message = `other.txt is outside the allowed roots, of which ${join(folder, "gone")} does not exist`;
  expect(() => locate(roots, "other.txt", folder)).toThrow(
    expect.objectContaining({ code: "path_outside_sandbox", message }),
  );
});

test("paths in a root are allowed, whether or not they exist", () => {
  const folder = folderWith({ "a/b.txt": "" });
  for (const path of ["a", "a/b.txt", "a/../a/b.txt", ".", "missing/x", `${folder}/a`]) {
    expect(isWithin(folder, locate([folder], path, folder))).toBe(true);
  }
});

test("traversal, prefix confusion and symlinks out are refused with the words for a missing target", () => {
  const base = folderWith({ "repo/a/x": "", "repo-evil/secret.txt": "s", "outside/secret.txt": "s" });
  const repo = join(base, "repo");
  symlinkSync("../outside", join(repo, "dir"));
  symlinkSync("b", join(repo, "a/chain"));
  symlinkSync("../../outside", join(repo, "a/b"));
  symlinkSync("../outside/missing", join(repo, "dangling"));
  const refused = [
    "..",
    "../outside/secret.txt",
    "a/../../outside/secret.txt",
    "./././../outside/secret.txt",
    "../repo-evil/secret.txt",
    join(base, "repo-evil/secret.txt"),
    "dir",
    "dir/secret.txt",
    "a/chain/secret.txt",
    "dangling",
    "/etc/passwd",
  ];
  for (const path of refused) {
    const missing = path.replace("secret.txt", "missing").replace("passwd", "missing");
    const error = errorOf(() => locate([repo], path, repo));
    expect(error).toMatchObject({ code: "path_outside_sandbox", message: `${path} is outside the allowed roots` });
    expect(
      wordsOf(
        errorOf(() => locate([repo], missing, repo)),
        missing,
      ),
    ).toEqual(wordsOf(error, path));
  }
});

test("/proc, /sys and /dev are refused under the root / and through a symlink", () => {
  const folder = folderWith({ x: "" }, { environ: "/proc/self/environ", devices: "/dev" });
  const direct = ["/proc/self/environ", "/sys", "/dev/zero"];
  for (const path of [...direct, "environ", "devices/null", "/proc/self/cwd/package.json"]) {
    expect(() => locate(["/"], path, folder)).toThrow(expect.objectContaining({ code: "path_outside_sandbox" }));
  }
  expect(locate(["/"], "x", folder)).toBe(join(folder, "x"));
});

test("an empty path, one with NUL and an endless one are invalid arguments", () => {
  for (const path of ["", "a\0b", "a/".repeat(100_000)]) {
    expect(() => locate(["/"], path, "/")).toThrow(expect.objectContaining({ code: "invalid_argument" }));
  }
});

test("resolving symlink loops ends", () => {
  const folder = folderWith({}, { l: "l/l/l/l", a: "b", b: "a" });
  expect(isWithin(folder, canonical(join(folder, "l")))).toBe(true);
  expect(isWithin(folder, canonical(join(folder, "a/x")))).toBe(true);
});

test("a file is read to its size at the open: what is appended later is not, a shrunken one gives what is there", () => {
  const folder = folderWith({ "a.txt": "0123456789" });
  const path = join(folder, "a.txt");
  const grown = withFile([folder], path, ({ size, read }) => {
    appendFileSync(path, "more");
    return read(size + 100);
  });
  expect(String(grown)).toBe("0123456789");
  const shrunken = withFile([folder], path, ({ size, read }) => {
    truncateSync(path, 3);
    return read(size);
  });
  expect(String(shrunken)).toBe("012");
});

test("what is no regular file, vanished, or was replaced by a symlink is refused", () => {
  const folder = folderWith({ "target.txt": "", "d/x": "" }, { link: "target.txt" });
  execFileSync("mkfifo", [join(folder, "pipe")]);
  const reasonOf = (name: string) => withFile([folder], join(folder, name), () => ({ reason: "opened" }));
  expect(reasonOf("target.txt")).toEqual({ reason: "opened" });
  expect(reasonOf("link")).toEqual({ reason: "replaced while loading", errno: "ELOOP" });
  expect(reasonOf("pipe")).toEqual({ reason: "FIFO" });
  expect(reasonOf("d")).toEqual({ reason: "folder" });
  expect(reasonOf("gone")).toEqual({ reason: "vanished while loading", errno: "ENOENT" });
  expect(reasonOf("name-\ufffd")).toEqual({ reason: "its name is not UTF-8", errno: "ENOENT" });
});

test("a parent folder that was swapped for a symlink is noticed after the open", () => {
  const base = folderWith({ "repo/d/x": "inside", "outside/x": "secret" });
  const path = join(base, "repo/d/x");
  renameSync(join(base, "repo/d"), join(base, "repo/d-moved"));
  symlinkSync("../outside", join(base, "repo/d"));
  expect(withFile([join(base, "repo")], path, ({ read }) => ({ content: String(read(100)) }))).toBe(MOVED_OUT);
  const seen = readFolder([join(base, "repo")], dirname(path));
  expect(seen).toEqual({ reason: "replaced while loading", errno: "ENOTDIR" });
  mkdirSync(join(base, "outside/sub"));
  expect(readFolder([join(base, "repo")], join(base, "repo/d/sub"))).toBe(MOVED_OUT);
});

test("a file and its folder that are swapped all the time never give what lies outside", async () => {
  const base = folderWith({ "repo/d/x": "inside", "repo/y": "inside", "outside/x": "secret" });
  const stop = new Int32Array(new SharedArrayBuffer(8));
  const swapper = new Worker(SWAPPER, { eval: true, workerData: { base, stop } });
  await new Promise((ready) => swapper.once("message", ready));
  const seen = new Map<string, number>();
  const repo = join(base, "repo");
  for (let round = 0; round < 1500; round++) {
    for (const name of ["d/x", "y"]) {
      const content = outcome(() => {
        const got = withFile([repo], locate([repo], name, repo), ({ read }) => ({ content: String(read(100)) }));
        return "reason" in got ? got.reason : got.content;
      });
      seen.set(content, (seen.get(content) ?? 0) + 1);
    }
  }
  Atomics.store(stop, 0, 1);
  await new Promise((ended) => swapper.once("exit", ended));
  expect([...seen.keys()]).not.toContain("secret");
  expect([...seen.keys()]).toContain("inside");
  expect(Atomics.load(stop, 1)).toBeGreaterThan(100);
});

const SWAPPER = `
const { parentPort, workerData: { base, stop } } = require("node:worker_threads");
const { renameSync, symlinkSync, rmSync, writeFileSync } = require("node:fs");
const at = (path) => base + "/" + path;
symlinkSync(at("outside"), at("folder-link"));
symlinkSync(at("outside/x"), at("file-link"));
parentPort.postMessage("ready");
while (Atomics.load(stop, 0) === 0) {
  renameSync(at("repo/d"), at("folder-real"));
  renameSync(at("folder-link"), at("repo/d"));
  renameSync(at("repo/d"), at("folder-link"));
  renameSync(at("folder-real"), at("repo/d"));
  renameSync(at("repo/y"), at("file-real"));
  renameSync(at("file-link"), at("repo/y"));
  renameSync(at("repo/y"), at("file-link"));
  renameSync(at("file-real"), at("repo/y"));
  Atomics.add(stop, 1, 1);
}`;

function outcome(read: () => string): string {
  try {
    return read();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function errorOf(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

/** All that an error says, without the path that the caller gave. */
function wordsOf(error: unknown, path: string): unknown {
  if (!(error instanceof Error)) return error;
  return { ...error, message: error.message.replace(path, "") };
}

test("Belay's own folders are refused, also by a link, a root above them or the name of a folder that is not there yet", () => {
  const folder = folderWith({ "home/history": "typed", "config/belay/key": "secret", "a.txt": "" });
  vi.stubEnv("BELAY_HOME", join(folder, "home"));
  vi.stubEnv("XDG_CONFIG_HOME", join(folder, "config"));
  onTestFinished(() => void vi.unstubAllEnvs());
  symlinkSync("config", join(folder, "link"));
  for (const path of ["home", "home/history", "config/belay/key", "link/belay/key", "home/not-yet"]) {
    expect(() => locate([folder], path, folder)).toThrow(`${path} cannot be loaded: Belay keeps its own files there`);
    expect(isAllowed([folder], canonical(join(folder, path)))).toBe(false);
  }
  expect(withFile([folder], join(folder, "home/history"), () => ({ reason: "opened" }))).toMatchObject({
    reason: "moved out of the allowed roots while loading",
  });
  expect(locate([folder], "a.txt", folder)).toBe(join(folder, "a.txt"));
});
