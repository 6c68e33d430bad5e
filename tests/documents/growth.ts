import { readdirSync, readFileSync } from "node:fs";
import { load } from "../../src/context/load/load.ts";

// Loads the files of its second argument alone, then all of them together, after the folder of its first argument. Prints what came of
// them, for each its time (ms) and the most memory of its reader (bytes), and by how many bytes the peak of this process has grown.

const [, , before = "", folder = "", keptIn = ""] = process.argv;

const kilobytes = (pid: string, name: string) => {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) * 1024;
};

/** The memory that the readers of this process have now. */
function readers(): number {
  const pids = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").trim().split(" ");
  return Math.max(...pids.map((pid) => (pid === "" ? 0 : ofOne(pid))));
}

function ofOne(pid: string): number {
  try {
    return kilobytes(pid, "VmRSS");
  } catch {
    // It has just ended.
    return 0;
  }
}

const loadAll = (cwd: string, path: string) =>
  load({ kind: "path", path }, { cwd, roots: [cwd], documents: { keptIn } });

async function measured(name: string) {
  let memory = 0;
  const looking = setInterval(() => (memory = Math.max(memory, readers())), 5);
  const start = performance.now();
  await loadAll(folder, name).catch(() => {});
  clearInterval(looking);
  return { name, ms: performance.now() - start, memory };
}

await loadAll(before, ".");
const least = kilobytes("self", "VmHWM");
const files = [];
for (const name of readdirSync(folder)) files.push(await measured(name));
const { documents, stats, text } = await loadAll(folder, ".");
const texts = documents.map(({ id, start, end }) => [id, text.slice(start, Math.min(end, start + 1000))]);
const growth = kilobytes("self", "VmHWM") - least;
console.log(JSON.stringify({ files, growth, texts, skipped: stats.skipped.files }));
