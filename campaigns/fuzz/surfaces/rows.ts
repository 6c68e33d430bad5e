import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { binariesFolder, PLATFORM, startCluster } from "../../../tests/support/postgres/cluster.ts";
import { corrupt } from "../../corrupt/corruption.ts";
import type { Change } from "../../corrupt/damages.ts";
import { corruptServer } from "../../corrupt/server.ts";
import type { Tally } from "../../corrupt/tally.ts";
import { below, mutated, pick, type Random } from "../mutate.ts";
import type { OpenSurface } from "../surface.ts";

/** Rows and pages of a store in a folder: what is read of them is what was written, or is refused by name. */
export const openRows: OpenSurface = async (folder) => {
  const own = join(folder, "store");
  return {
    async play(random) {
      mkdirSync(own);
      try {
        return problemOf(await corrupt({ folder: own, cutEvery: 1_000_000, ...planOf(random) }));
      } finally {
        rmSync(own, { recursive: true, force: true });
      }
    },
    async [Symbol.asyncDispose]() {},
  };
};

/** The same of a store on a server of its own. */
export const openServerRows: OpenSurface = async () => {
  if (binariesFolder() === null) return `npm has no PostgreSQL for ${PLATFORM}`;
  const server = await startCluster();
  let stores = 0;
  return {
    async play(random) {
      stores += 1;
      return problemOf(await corruptServer({ url: `${server.url}?schema=case_${stores}`, ...planOf(random) }));
    },
    [Symbol.asyncDispose]: server[Symbol.asyncDispose],
  };
};

const planOf = (random: Random) => ({ flips: 40, seed: below(random, 2 ** 31), change: changed });

/** Nothing, the value of another row, or the value with its bytes changed. */
export const changed: Change = (random, value, all) => {
  const choice = below(random, 8);
  if (choice === 0) return null;
  if (choice > 1) return mutated(random, value.bytes);
  return pick(
    random,
    all.filter(({ table, column }) => table === value.table && column === value.column),
  ).bytes;
};

const problemOf = ({ wrong, crashed, lines }: Tally) => (wrong + crashed === 0 ? null : lines.join("\n"));
