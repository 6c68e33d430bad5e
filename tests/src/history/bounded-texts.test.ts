import { expect, test } from "vitest";
import { withBoundedTexts } from "../../../src/history/bounded-texts.ts";
import { describeExecs } from "../../../src/history/execs.ts";
import type { SessionDescription } from "../../../src/history/index.ts";
import { openJournal, printed } from "../../support/ask/journal.ts";

const FACTS = {
  ...{ id: "01X", name: "s", label: null, origin: "command", status: "idle", created_at: 0, changed_at: 0, bytes: 0 },
  ...{ holder: null, forked_from: null, head: null, settings: null, execs: [], checkpoints: [] },
  ...{ sub_calls: 0, tokens: 0, cost_usd: 0, context: null, last: null },
} as const satisfies SessionDescription;

/** So many cells, each with a call whose prompt and answer have so many characters; every third call failed. */
function sessionOf(cells: number, units: number): SessionDescription {
  const journal = openJournal(0);
  for (let at = 0; at < cells; at++) {
    const prompt = String(at % 10).repeat(units);
    journal.start(`e${at}`, "cell", "go()");
    journal.call(`e${at}`, 1, "llm_query", [prompt, { system: prompt }]);
    const value = at % 3 === 2 ? { code: "timeout", message: prompt } : prompt;
    journal.result(`e${at}`, 1, "llm_query", value, { success: at % 3 !== 2 });
    journal.end(`e${at}`, "cell", printed(`e${at}`, prompt));
  }
  return { ...FACTS, execs: describeExecs(journal.records) };
}

test("texts that fit stay as they are", () => {
  const session = sessionOf(5, 100);
  expect(withBoundedTexts(session)).toEqual(session);
});

test("a long text keeps its beginning and its end, and the number of characters that it had", () => {
  const bounds = { each: 1000, all: 1e9, little: 10 };
  const [exec] = withBoundedTexts(sessionOf(1, 5000), bounds).execs;
  const cut = `${"0".repeat(750)}\n[… 4000 characters are left out …]\n${"0".repeat(250)}`;
  expect(exec).toMatchObject({ stdout: cut, source: "go()", cut: { stdout: 5000 } });
  const [call] = exec?.calls ?? [];
  expect(call).toMatchObject({ prompt: cut, answer: cut, args: [cut, { system: cut }], name: "llm_query" });
  expect(call?.cut).toEqual({ prompt: 5000, answer: 5000, "args[0]": 5000, "args[1]": '{"system":""}'.length + 5000 });
});

test("a cut goes through no character", () => {
  const session = sessionOf(1, 1);
  const execs = session.execs.map((exec) => ({ ...exec, stdout: "😀".repeat(1001) }));
  const [exec] = withBoundedTexts({ ...session, execs }, { each: 1001, all: 1e9, little: 10 }).execs;
  expect(exec?.stdout.isWellFormed()).toBe(true);
  expect(exec?.cut).toEqual({ stdout: 2002 });
});

test("ranges of coverage are whole, or left out once the texts have no room left", () => {
  const given = Array.from({ length: 200 }, (_, at) => [at * 20, at * 20 + 5] as const);
  const ranges = { shown: [], found: [], ranked: [], given, printed: [] };
  const coverage = { context_hash: "h", ranges };
  const session = sessionOf(2, 900);
  const execs = session.execs.map((exec) => ({ ...exec, coverage }));
  expect(withBoundedTexts({ ...session, execs }).execs[0]?.coverage).toEqual(coverage);
  const [oldest, newest] = withBoundedTexts({ ...session, execs }, { each: 4000, all: 4000, little: 10 }).execs;
  expect(newest?.coverage).toEqual(coverage);
  expect(oldest).toMatchObject({ coverage: null, cut: { coverage: JSON.stringify(ranges).length } });
});

test("all texts together are bounded: those of the oldest execs go first, errors never", () => {
  const bounds = { each: 1000, all: 20_000, little: 10 };
  const told = withBoundedTexts(sessionOf(30, 900), bounds);
  const texts = JSON.stringify(told.execs.filter((_, at) => at % 3 !== 2)).length;
  expect(texts).toBeLessThan(20_000 + 30 * 1400);
  expect(told.execs[0]).toMatchObject({ stdout: expect.stringMatching(/^0{8}\n/), cut: { stdout: 900 } });
  expect(told.execs[0]?.calls[0]).toMatchObject({ cut: { prompt: 900, answer: 900 } });
  expect(told.execs[2]?.calls[0]).toMatchObject({ error_code: "timeout", answer: { message: "2".repeat(900) } });
  expect(told.execs[2]?.calls[0]).not.toHaveProperty("cut");
  expect(told.execs[29]).not.toHaveProperty("cut");
});

test("a value that has no long text and is long all the same is left out", () => {
  const session = sessionOf(1, 1);
  const numbers = Array.from({ length: 5000 }, (_, at) => at);
  const execs = session.execs.map((exec) => ({ ...exec, result_json: numbers }));
  const [exec] = withBoundedTexts({ ...session, execs }, { each: 1000, all: 1e9, little: 10 }).execs;
  expect(exec).toMatchObject({ result_json: null, cut: { result_json: JSON.stringify(numbers).length } });
});
