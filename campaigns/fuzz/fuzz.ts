import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { seededRandom } from "../../tests/support/seeded-random.ts";
import type { OpenSurface } from "./surface.ts";
import { openBranches } from "./surfaces/branches.ts";
import { openDocuments } from "./surfaces/documents.ts";
import { openImages } from "./surfaces/images.ts";
import { openMessages } from "./surfaces/messages.ts";
import { openPosts } from "./surfaces/posts.ts";
import { openPrograms } from "./surfaces/programs.ts";
import { openRows, openServerRows } from "./surfaces/rows.ts";
import { openSettings } from "./surfaces/settings.ts";
import { openStreams } from "./surfaces/streams.ts";
import { openTrees } from "./surfaces/trees.ts";

/** Places at which something foreign comes in, by their names. */
export const SURFACES = {
  /** Cells, run plain and restored at each of their awaits. */
  programs: openPrograms,
  /** Images behind their seals. */
  images: openImages,
  /** Posts of a guest that has rewritten its prelude. */
  posts: openPosts,
  /** Rows and pages of a store in a folder. */
  rows: openRows,
  /** Rows of a store on a server. */
  server: openServerRows,
  /** Replies of a provider. */
  streams: openStreams,
  /** Lines of an MCP client. */
  messages: openMessages,
  /** Session files of Pi. */
  branches: openBranches,
  /** Files of settings. */
  settings: openSettings,
  /** Folders. */
  trees: openTrees,
  documents: openDocuments,
} satisfies Record<string, OpenSurface>;

export interface FuzzPlan {
  readonly surfaces: Readonly<Record<string, OpenSurface>>;
  /** An empty one. */
  readonly folder: string;
  readonly seed: number;
  /** The first case of each surface: to play one again. */
  readonly from: number;
  /** True as long as another case of a surface is to be played. */
  more(cases: number, sinceMs: number): boolean;
  say(line: string): void;
}

/** Plays cases on each surface in turn. Returns how many had a problem. */
export async function fuzz({ surfaces, folder, seed, from, more, say }: FuzzPlan): Promise<number> {
  let found = 0;
  for (const [name, open] of Object.entries(surfaces)) {
    const own = join(folder, name);
    mkdirSync(own);
    const opened = await open(own);
    if (typeof opened === "string") {
      say(`${name.padEnd(10)} left out: ${opened}`);
      continue;
    }
    await using surface = opened;
    const since = performance.now();
    let at = from;
    let problems = 0;
    for (; more(at - from, performance.now() - since); at += 1) {
      const problem = await surface.play(seededRandom(seed * 1_000_003 + at));
      if (problem === null) continue;
      problems += 1;
      if (problems <= MOST_TOLD) say(`${name} --seed ${seed} --from ${at}: ${problem}`);
    }
    say(`${name.padEnd(10)} ${at - from} cases, ${problems} with a problem`);
    found += problems;
  }
  return found;
}

/** Problems of a surface that are printed. */
const MOST_TOLD = 5;
