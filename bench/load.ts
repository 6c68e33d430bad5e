import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { getQuickJS } from "quickjs-emscripten";
import { load } from "../src/context/load/load.ts";
import { openSession } from "../src/index.ts";
import type { Corpus } from "./corpus.ts";
import { type Measured, median, type Turns, takeTurns, timed } from "./measure.ts";
import type { Report } from "./report.ts";
import { size } from "./size.ts";

/** Files to P, and P into the guest. */
export async function benchLoad(corpus: Corpus): Promise<Report> {
  const again = await loadsAgain(corpus);
  const ms = median(again[0]?.samples ?? []);
  return {
    title: `load: ${corpus.files.length.toLocaleString("en-US")} files into P, and P into the guest`,
    cases: [
      { name: "load", measured: await loads(corpus) },
      { name: "P.length, first touch", measured: await touches(corpus) },
      { name: "80 MB again, unchanged", measured: again },
    ],
    notes: [
      "Belay's load also checks roots, links, ignore rules and UTF-8, hashes P and lists its documents; the plain reads do nothing of this.",
      "80 MB again: a new session over a store that has the context; the first load reads, hashes and keeps it.",
      "P.length in quickjs-emscripten: newString(P) of a string that is already in memory, and an evaluation.",
    ],
    aims: [{ text: "80 MB again, unchanged, in under 400 ms", value: `${Math.round(ms)} ms`, met: ms < 400 }],
  };
}

/** Files into P. */
export function loads({ folder }: Corpus, turns: Turns = { rounds: 15, warmups: 2 }): Promise<Measured[]> {
  return takeTurns(
    [
      {
        name: "Belay load",
        once: () => timed(() => load({ kind: "path", path: folder }, { roots: [folder], cwd: folder })),
      },
      { name: "readFile, all at once", once: () => timed(() => readAtOnce(folder)) },
      { name: "readFileSync, in turn", once: () => timed(() => readInTurn(folder)) },
    ],
    turns,
  );
}

async function readAtOnce(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return (await Promise.all(paths.sort().map((path) => readFile(path, "utf8")))).join("");
}

function readInTurn(folder: string): string {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return paths
    .sort()
    .map((path) => readFileSync(path, "utf8"))
    .join("");
}

/** A first load into a store, and another session's load of the same files. */
async function loadsAgain(corpus: Corpus): Promise<Measured[]> {
  const folder = largeFolder(corpus);
  const shared = corpus.scratch();
  // Files that were written just now are not trusted to be unchanged.
  await sleep(2500);
  async function loadInto(store: string): Promise<number> {
    const options = { roots: [folder], cwd: folder, store, indexDir: join(store, "index") };
    await using session = await openSession(options);
    return await timed(() => session.load(folder));
  }
  await loadInto(shared);
  return await takeTurns(
    [
      { name: "Belay, again", once: () => loadInto(shared) },
      { name: "Belay, first load", once: () => loadInto(corpus.scratch()) },
    ],
    { rounds: 5, warmups: 1 },
  );
}

/** 80 MB in 160 files, which hold the corpus's P eight times. */
function largeFolder({ context: { text }, scratch }: Corpus): string {
  const folder = scratch();
  for (let copy = 0; copy < size(8, 1); copy++) {
    for (let part = 0; part < 20; part++) {
      const [start, end] = [part, part + 1].map((of) => Math.floor((text.length * of) / 20));
      writeFileSync(join(folder, `${copy}-${part}.txt`), text.slice(start ?? 0, end ?? 0));
    }
  }
  return folder;
}

/** P into the guest. */
export async function touches(
  { folder, context }: Corpus,
  turns: Turns = { rounds: 10, warmups: 2 },
): Promise<Measured[]> {
  await using session = await openSession({ roots: [folder], cwd: folder });
  const quickjs = await getQuickJS();
  const text = context.text.slice(0, context.text.length);
  // Awaited here: the session closes when this function returns.
  return await takeTurns(
    [
      {
        name: "Belay session.exec",
        async once() {
          await session.load(folder);
          await session.exec("0");
          return timed(async () => {
            const envelope = await session.exec("P.length");
            if (!envelope.success || envelope.result_json !== text.length) throw new Error("P is not whole");
          });
        },
      },
      {
        name: "quickjs-emscripten",
        async once() {
          using guest = quickjs.newContext();
          return timed(() => {
            guest.newString(text).consume((P) => guest.setProp(guest.global, "P", P));
            const length = guest.unwrapResult(guest.evalCode("P.length")).consume(guest.dump);
            if (length !== text.length) throw new Error("P is not whole");
          });
        },
      },
    ],
    turns,
  );
}
