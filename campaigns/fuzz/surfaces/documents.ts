import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "../../../src/context/index.ts";
import { ORIGINALS } from "../../../tests/src/documents/originals.ts";
import { mutated, pick } from "../mutate.ts";
import { named, type OpenSurface } from "../surface.ts";

/** Documents that were changed: each becomes text or is refused by name, within its time. */
export const openDocuments: OpenSurface = async (folder) => {
  const originals = Object.entries(ORIGINALS).map(([name, make]) => [name, make()] as const);
  return {
    async play(random) {
      const [name, bytes] = pick(random, originals);
      const path = join(folder, name);
      writeFileSync(path, mutated(random, bytes));
      const since = performance.now();
      const problem = await named(() => load({ kind: "path", path }, { cwd: folder, roots: [folder] }));
      const took = performance.now() - since;
      if (problem) return `${name}: ${problem}`;
      return took < MOST_MS ? null : `${name} took ${Math.round(took)} ms`;
    },
    async [Symbol.asyncDispose]() {},
  };
};

/** The time of a small document, and a second. */
const MOST_MS = 12_000;
