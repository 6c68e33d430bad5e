import { copyFileSync, linkSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { load } from "../../../src/context/load/load.ts";
import { useEntriesOf } from "../../../src/entries.ts";
import { BUNDLED } from "../../support/command.ts";

// Loads the files of its second argument, each beside a plain text, after the folder of its first argument. Prints what came of them,
// for each its time (ms) and the most memory of its reader (bytes), and by how many bytes the peak of this process has grown.

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

const loadAll = (cwd: string) =>
  load({ kind: "path", path: "." }, { cwd, roots: [cwd], documents: { keptIn: join(keptIn, "index") } });

async function measured(name: string) {
  const own = join(keptIn, "of", name);
  mkdirSync(own, { recursive: true });
  linkSync(join(folder, name), join(own, name));
  copyFileSync(join(before, "a.txt"), join(own, "beside"));
  let memory = 0;
  const looking = setInterval(() => (memory = Math.max(memory, readers())), 5);
  const start = performance.now();
  const { documents, stats, text } = await loadAll(own);
  clearInterval(looking);
  const ms = performance.now() - start;
  const others = documents.filter(({ id }) => id !== "beside");
  if (others.length === documents.length) throw new Error(`${name}: what is beside it was not loaded`);
  const texts = others.map(({ id, start, end }) => [id, text.slice(start, Math.min(end, start + 1000))]);
  return { name, ms, memory, texts, skipped: stats.skipped.files };
}

// Readers that are bundled begin sooner: twenty of them are ended here.
useEntriesOf(pathToFileURL(join(BUNDLED, "src/")));
await loadAll(before);
const least = kilobytes("self", "VmHWM");
const files = [];
for (const name of readdirSync(folder)) files.push(await measured(name));
const growth = kilobytes("self", "VmHWM") - least;
const [texts, skipped] = [files.flatMap(({ texts }) => texts), files.flatMap(({ skipped }) => skipped)];
console.log(JSON.stringify({ files, growth, texts, skipped }));
