import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { KINDS } from "./kinds.js";
import { SANDBOXES } from "./sandboxes.js";

// Measures one thing of one sandbox in a process of its own, and prints it as JSON.
// Arguments: the sandbox, what to measure, a folder, Belay's library as it is built, and a kind of state.

const [name, what, folder, library, kind] = process.argv.slice(2);
const { open, call } = await SANDBOXES[name](library);

const MEASURES = {
  /** Opening and a cell, in a process that has none, ms. */
  async first() {
    const from = performance.now();
    const opened = await open(() => "");
    expect(await opened.run("", "1 + 1"), 2);
    return performance.now() - from;
  },
  /** A call of the host that answers at once, ms. */
  async calls() {
    const opened = await open((n) => n);
    const calls = (count) => opened.run(`for (let i = 0; i < ${count}; i++) ${call(0)}`, "1");
    await calls(WARM_CALLS);
    const from = performance.now();
    expect(await calls(CALLS), 1);
    return (performance.now() - from) / CALLS;
  },
  /** What one of many open sessions takes, MB. */
  async sessions() {
    const first = await open(() => "");
    await first.run("", "1 + 1");
    const before = process.memoryUsage.rss();
    for (let n = 0; n < SESSIONS; n++) await (await open(() => "")).run("var mine = 1", "mine");
    return (process.memoryUsage.rss() - before) / SESSIONS / 2 ** 20;
  },
  /** A cell that fills its memory: ms until it is refused, and the most that the process took, MB. */
  async bomb() {
    const opened = await open(() => "");
    await opened.run("", "1 + 1");
    const from = performance.now();
    const refused = await opened.run(BOMB, "1").then(
      () => false,
      () => true,
    );
    return { refused, ms: performance.now() - from, mb: mostResident() };
  },
  /** A cell with so many prompts to a scripted model, whose URL is the kind, ms. Belay alone. */
  async rows() {
    const { openSession } = await import(library);
    const budget = { max_sub_calls: 1e6, max_tokens: 1e12, max_time_ms: 36e5 };
    const session = await openSession({ model: "local/bench", baseUrl: kind, budget });
    await session.exec("1");
    const from = performance.now();
    const code = `(await llm_query_batch(Array.from({ length: ${ROWS} }, (_, n) => "row " + n), { tools: [], max_concurrent: 8 })).results.filter((each) => each === "ok").length`;
    expect((await session.exec(code)).result_json, ROWS);
    return performance.now() - from;
  },
  /** Asks so many questions one after the other, and notes each. The process may be killed at any time. */
  async asks() {
    const log = join(folder, "asks");
    const ask = async (n) => {
      appendFileSync(log, `ask ${n}\n`);
      await delay(ANSWER_MS);
      return n;
    };
    const opened = await open(ask, { store: join(folder, "store") });
    const calls = Array.from({ length: QUESTIONS }, (_, n) => `${call(n)};`).join("\n");
    return opened.run(calls, "1");
  },
  /** Makes state of one kind and has it saved. */
  async make() {
    const opened = await open(() => "", { store: join(folder, "store") });
    expect(await opened.run(KINDS[kind][0], "1"), 1);
    const saved = await opened.save?.();
    if (saved !== undefined) writeFileSync(join(folder, "saved"), JSON.stringify(saved));
    await opened.close?.();
    return saved !== undefined;
  },
  /** True if the state is there in this process. */
  async look() {
    if (!existsSync(join(folder, "saved"))) return false;
    const saved = JSON.parse(readFileSync(join(folder, "saved"), "utf8"));
    const opened = await open(() => "", { saved, store: join(folder, "store") });
    return (await opened.run("", `(${KINDS[kind][1]}) === true`)) === true;
  },
};

const CALLS = 200;
const WARM_CALLS = 20;
const SESSIONS = 50;
const ROWS = 1000;
const ANSWER_MS = 5;
const QUESTIONS = 21;
const BOMB = `const list = []; for (;;) list.push("x".repeat(100_000) + list.length)`;

/** MB. What `resourceUsage` says begins with what the parent had when it started this process. */
function mostResident() {
  const status = readFileSync("/proc/self/status", "utf8");
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

function expect(found, wanted) {
  if (found !== wanted) throw new Error(`${name} answered ${JSON.stringify(found)}`);
}

console.log(JSON.stringify(await MEASURES[what]()));
process.exit();
