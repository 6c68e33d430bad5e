import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Asks } from "./ask-process.ts";
import { buildCommand } from "./built.ts";
import type { Case, Report } from "./report.ts";
import { size } from "./size.ts";

/** Children that are asked at once. */
const TOGETHER = size(16, 2);
const PROCESS = fileURLToPath(new URL("./ask-process.ts", import.meta.url));

/** What an ask takes beside its model: its turns, its cells, and children that answer calls with context. */
export async function benchAsk(): Promise<Report> {
  const { library, home } = await buildCommand("src/store/open");
  const args = ["--expose-gc", PROCESS, library, join(home, "store"), `${TOGETHER}`];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { ...process.env, OPENAI_API_KEY: "none" },
  });
  const asks: Asks = JSON.parse(stdout);
  return {
    title: "ask: a scripted model on loopback, sessions in a store on disk",
    cases: [
      {
        name: "a turn's request, its reply kept",
        measured: [one("Belay", asks.turns), one("pi-ai completeSimple", asks.bare)],
      },
      own("until the request has arrived", asks.asking),
      own("from the reply until it is kept", asks.replying),
      own("a small cell, run and kept", asks.cells),
      own("a child, one after the other", asks.children),
      own(`${TOGETHER} children at once`, [asks.tree]),
    ],
    notes: [
      `a turn with its cell takes ${(asks.journal / 1024).toFixed(1)} KB of journal, before it is packed`,
      `a child takes ${kb(asks.stored)} in the store, and ${(asks.resident / 2 ** 20).toFixed(0)} MB of memory while it lives`,
      "A child is a session: it is opened, its part loaded, one turn asked, one cell run. pi-ai sends two words and keeps nothing.",
    ],
    aims: [],
  };
}

const one = (name: string, samples: readonly number[]) => ({ name, samples, gaveUp: false });
const own = (name: string, samples: readonly number[]): Case => ({ name, measured: [one("Belay", samples)] });
const kb = (bytes: number) => `${(bytes / 1024).toFixed(0)} KB`;
