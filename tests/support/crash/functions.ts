import { appendFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { silenceSqliteWarning } from "../../../src/platform/sqlite-warning.ts";
import { CRASH_VARIABLE, crashingStores, crashPointOf } from "./point.ts";

// A program that lends functions to a cell, over a store that kills it where a variable says. It is started again and again
// until it prints the cell's result: `functions.ts SESSION LOG [when-asked]`. The log has a line for each run of a function. With
// the third argument the process kills itself when it is first asked to approve a call of `send`.

silenceSqliteWarning();
const { openSessionWith } = await import("../../../src/session/session.ts");
const { openStore } = await import("../../../src/store/index.ts");

const [session = "", log = "", dies = ""] = process.argv.slice(2);

/** Calls one after the other and at once, of functions of each kind. */
const CELL = `
  const got = [];
  for (let n = 0; n < 3; n++) {
    got.push(await look({ n }));
    const calls = [put({ n }), send({ n }), look({ n: n + 10 }), send({ n: n + 10 })];
    got.push(await Promise.all(calls.map((call) => call.catch(({ code }) => code))));
    print(got.length);
  }
  got`;

const lent = (name: string, effects: "none" | "idempotent" | "once") => ({
  ...{ description: name, parameters: { type: "object", required: ["n"] }, effects },
  /** A call that waits for its approval has not run. */
  async approve() {
    if (name === "send" && dies === "when-asked") process.kill(process.pid, "SIGKILL");
    await setTimeout(Math.random() * 12);
    return true;
  },
  async run({ n }: { readonly n: number }, { idempotencyKey: key }: { readonly idempotencyKey: string }) {
    const told = (what: string) => appendFileSync(log, `${JSON.stringify({ what, name, n, key, pid: process.pid })}\n`);
    told("began");
    await setTimeout(Math.random() * 12);
    told("ended");
    return `${name} ${n}`;
  },
});

const functions = { look: lent("look", "none"), put: lent("put", "idempotent"), send: lent("send", "once") };
const suspend = new AbortController();
process.once("SIGINT", () => suspend.abort());
const store = crashingStores(crashPointOf(process.env[CRASH_VARIABLE]))(await openStore(process.env.BELAY_HOME ?? ""));
const opened = await openSessionWith({ session, functions }, { store });
const resumed = await opened.resume({ suspend: suspend.signal });
const envelope = resumed?.envelope ?? (await opened.exec(CELL, { suspend: suspend.signal }));
await opened.close();
await store[Symbol.asyncDispose]();
if ("resumable" in envelope) process.exitCode = 130;
else console.log(JSON.stringify(envelope));
