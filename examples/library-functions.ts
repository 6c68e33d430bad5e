// Functions of a program in a cell: what is recorded is not asked for again, and what is sent once is not sent twice.
//
//   node examples/library-functions.ts
//
// In a project of your own: import { openSession } from "belay-rlm";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { openSession } from "../src/index.ts";

const stop = new AbortController();
const kept = { store: mkdtempSync(join(tmpdir(), "belay-functions-")), session: "orders" };

const functions = {
  price: {
    description: "Looks up the price of an article.",
    parameters: { type: "object", properties: { article: { type: "string" } }, required: ["article"] },
    effects: "none",
    run: async ({ article }: { readonly article: string }) => {
      console.log(`price of ${article}`);
      return article.length;
    },
  },
  order: {
    description: "Orders an article.",
    parameters: { type: "object", properties: { article: { type: "string" } }, required: ["article"] },
    effects: "once",
    run: async ({ article }: { readonly article: string }) => {
      console.log(`order of ${article}`);
      // The process ends here, without a wait: nobody knows whether the order has arrived.
      if (article === "axe") {
        stop.abort();
        await setTimeout(100);
      }
      return "ordered";
    },
  },
} as const;

const CELL = `
  const done = [];
  for (const article of ["rope", "axe", "tent"]) {
    const answer = await order({ article }).catch((error) => error.code);
    done.push([article, await price({ article }), answer]);
  }
  done`;

// A kill, here played by a stop that does not wait for what runs. By default it waits 10 s, and records the order.
const first = await openSession({ ...kept, functions, onceWaitMs: 0 });
await first.exec(CELL, { suspend: stop.signal });
await first.close();

// A later process goes on at the await: "rope" is on record, and "axe" is not ordered again.
const again = await openSession({ ...kept, functions });
const resumed = await again.resume();
if (resumed?.envelope && "result_json" in resumed.envelope) console.log(resumed.envelope.result_json);
await again.close();
rmSync(kept.store, { recursive: true });
