import { execFileSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { checkResultFile, writeResultFile } from "../../../src/platform/result-file.ts";
import { folderWith } from "../../support/tree.ts";

test("a file is replaced whole, with its permissions, and nothing else is left", async () => {
  const folder = folderWith();
  const file = join(folder, "out.json");
  writeFileSync(file, "before");
  chmodSync(file, 0o640);
  // What an earlier process of the run left when it was killed.
  writeFileSync(join(folder, ".out.json.run.part"), "half of it and mo");
  const pieces = ["é".repeat(3_000_000), "end, with half of \ud83d"];
  checkResultFile(file);
  expect(await writeResultFile(file, pieces, "run")).toBe(6_000_024);
  expect(readFileSync(file, "utf8") === pieces.join("").replace("\ud83d", "\\ud83d")).toBe(true);
  expect([readdirSync(folder), statSync(file).mode & 0o777]).toEqual([["out.json"], 0o640]);
});

test("a piece that fails leaves the file as it was", async () => {
  const folder = folderWith();
  const file = join(folder, "out.txt");
  writeFileSync(file, "before");
  function* broken(): Iterable<string> {
    yield "x".repeat(2_000_000);
    throw Object.assign(new Error("no space"), { code: "ENOSPC" });
  }
  const message = `${file} cannot be written: ENOSPC`;
  await expect(writeResultFile(file, broken(), "run")).rejects.toMatchObject({ code: "output_failed", message });
  expect([readdirSync(folder), readFileSync(file, "utf8")]).toEqual([["out.txt"], "before"]);
});

test("a link stays a link, and a device is written to", async () => {
  const folder = folderWith();
  mkdirSync(join(folder, "real"));
  symlinkSync("real/out.txt", join(folder, "link"));
  writeFileSync(join(folder, "real/out.txt"), "");
  await writeResultFile(join(folder, "link"), ["text"], "run");
  expect(readFileSync(join(folder, "real/out.txt"), "utf8")).toBe("text");
  expect(readdirSync(folder)).toEqual(["link", "real"]);
  checkResultFile("/dev/null");
  expect(await writeResultFile("/dev/null", ["gone"], "run")).toBe(4);
});

test("what cannot be written is refused before anything runs, and leaves nothing", () => {
  const folder = folderWith();
  const refused = (path: string) => {
    try {
      checkResultFile(path);
    } catch (error) {
      return String(error);
    }
    return "accepted";
  };
  expect(refused(folder)).toContain(`${folder} cannot be written: it is a folder`);
  expect(refused(join(folder, "none/x"))).toContain(`the folder ${join(folder, "none")} does not exist`);
  writeFileSync(join(folder, "file"), "");
  expect(refused(join(folder, "file/x"))).toContain("ENOTDIR");
  expect(refused(join(folder, "new"))).toBe("accepted");
  expect(readdirSync(folder)).toEqual(["file"]);
});

test("a FIFO is written to once somebody reads it, and nobody waits for that", async () => {
  const file = join(folderWith(), "pipe");
  execFileSync("mkfifo", [file]);
  const message = `${file} cannot be written: nobody reads this FIFO`;
  await expect(writeResultFile(file, ["x"], "run")).rejects.toMatchObject({ code: "output_failed", message });
  const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(reader));
  expect(await writeResultFile(file, ["x"], "run")).toBe(1);
  expect(readFileSync(reader, "utf8")).toBe("x");
});
