import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { corrupt } from "../../corrupt/corruption.ts";
import { below } from "../mutate.ts";
import type { OpenSurface } from "../surface.ts";

/** Rows and pages of a store: what is read of them is what was written, or is refused by name. */
export const openRows: OpenSurface = async (folder) => {
  const own = join(folder, "store");
  return {
    async play(random) {
      mkdirSync(own);
      try {
        const seed = below(random, 2 ** 31);
        const { wrong, crashed, lines } = corrupt({ folder: own, flips: 40, seed, cutEvery: 1_000_000 });
        return wrong + crashed === 0 ? null : lines.join("\n");
      } finally {
        rmSync(own, { recursive: true, force: true });
      }
    },
    async [Symbol.asyncDispose]() {},
  };
};
