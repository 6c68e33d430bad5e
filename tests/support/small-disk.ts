import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { folderWith } from "./tree.ts";

export const isRoot = process.getuid?.() === 0;

/** A file system in memory of this size, bytes; gone when the test ends. */
export function smallDisk(bytes: number): string {
  const folder = folderWith();
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "none", folder]);
  onTestFinished(() => {
    execFileSync("umount", [folder]);
  });
  return folder;
}

/** True if this process may mount a file system in memory. */
export function canMount(): boolean {
  const folder = folderWith();
  const works = isRoot && spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "none", folder]).status === 0;
  if (works) spawnSync("umount", [folder]);
  return works;
}

/** Leaves so many bytes free, by a file named filler. */
export function fillBut(disk: string, free: number): void {
  const [, available = ""] = execFileSync("df", ["-B1", "--output=avail", disk], { encoding: "utf8" }).split("\n");
  writeFileSync(join(disk, "filler"), Buffer.alloc(Math.max(0, Number(available) - free)));
}
