import { hash as digest } from "node:crypto";
import { join } from "node:path";
import * as v from "valibot";
import { readBoundedFile } from "../../platform/bounded-reads.ts";
import { parseJson } from "../../platform/json.ts";
import { keepFile } from "./kept-files.ts";

/** The result of a load: the hash of its P, and the key of the context. */
export interface KnownLoad {
  readonly hash: string;
  readonly key: string;
}

export interface KnownLoads {
  /**
   * @param seen what was loaded, on top of what; `print`: what its files look like; `readersNow`:
   * ids, asked for if documents were read
   */
  find(seen: string, print: string, readersNow: () => Promise<string>): Promise<KnownLoad | undefined>;
  keep(seen: string, print: string, load: KnownLoad, readers: string): Promise<void>;
}

const FORMAT = 3;
const MAX_BYTES = 4096;
/** Records that stay when there are twice as many. */
const KEPT = 200;
const NAME = /^load-[0-9a-f]{64}\.json$/;

const RecordSchema = v.object({
  format: v.literal(FORMAT),
  print: v.string(),
  hash: v.string(),
  key: v.string(),
  /** Ids of the readers; "" if no document was read. */
  readers: v.string(),
  sha256: v.string(),
});

/**
 * Results of earlier loads, by facts of their files: records in a folder of the user's own, such as
 * that of the search indexes. It is made when something is kept. It is derived data: it holds no
 * text and grants nothing, and a record that is missing or damaged only means that the files are
 * read again.
 */
export function openKnownLoads(dir: string): KnownLoads {
  const pathOf = (seen: string) => join(dir, `load-${seen}.json`);
  return {
    async find(seen: string, print: string, readersNow: () => Promise<string>): Promise<KnownLoad | undefined> {
      const read = readBoundedFile(pathOf(seen), { maxBytes: MAX_BYTES, followsLink: false });
      const record = v.safeParse(RecordSchema, read && "text" in read ? parseJson(read.text) : undefined);
      if (!record.success || record.output.print !== print) return undefined;
      const { hash, key, readers, sha256 } = record.output;
      if (sha256 !== seal(seen, record.output)) return undefined;
      return readers === "" || readers === (await readersNow()) ? { hash, key } : undefined;
    },
    async keep(seen: string, print: string, load: KnownLoad, readers: string): Promise<void> {
      const record = { format: FORMAT, print, ...load, readers };
      const sealed = JSON.stringify({ ...record, sha256: seal(seen, record) });
      let count = 0;
      await keepFile(dir, `load-${seen}.json`, sealed, { names: NAME, few: 2 * KEPT, stays: () => ++count <= KEPT });
    },
  };
}

type Sealed = Omit<v.InferOutput<typeof RecordSchema>, "sha256" | "format">;

function seal(seen: string, { print, hash, key, readers }: Sealed): string {
  return digest("sha256", JSON.stringify([FORMAT, seen, print, hash, key, readers]));
}
