import { readFileSync } from "node:fs";
import { load } from "../../src/context/load/load.ts";

// Loads its second argument after its first one, and prints by how many bytes the second load raised the peak of this process's memory.

const [, , before = "", folder = ""] = process.argv;

/** The most memory that this process has had, bytes. */
function peak(): number {
  const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}

async function loadAll(path: string): Promise<number> {
  const { stats } = await load({ kind: "path", path }, { cwd: path, roots: [path] });
  return stats.skipped.files.length;
}

await loadAll(before);
const least = peak();
const skipped = await loadAll(folder);
console.log(JSON.stringify({ skipped, growth: peak() - least }));
