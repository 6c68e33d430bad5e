import fc from "fast-check";
import { expect, test } from "vitest";
import { describeExecs } from "../../../src/history/index.ts";
import { coverageLine, listedDocuments, sumCoverage } from "../../../src/session/journal/coverage-sums.ts";
import { KINDS } from "../../../src/view/format.ts";
import { asked, sessionOf } from "../../support/ask/described.ts";
import { openJournal } from "../../support/ask/journal.ts";
import { journals } from "../../support/journals.ts";
import { lineOf, modelled, textsIn, traced } from "../../support/view/traced.ts";

test("an ask with a child becomes execs with their calls, and the child's stand behind those of its call", () => {
  const trace = traced(asked());
  const { execs } = trace.head;
  const lines = execs.map(({ depth, kind, number, parent, from, to, of }) => {
    return `${"  ".repeat(depth)}${number} ${kind}, parent ${parent}, calls ${from} to ${to}, of ${of}`;
  });
  expect(lines).toEqual([
    ...["1 load, parent null, calls 0 to 0, of null", "2 cell, parent null, calls 0 to 0, of null"],
    ...["3 ask, parent null, calls 0 to 0, of null", "4 turn, parent 3, calls 0 to 1, of null"],
    "5 cell, parent 4, calls 1 to 3, of null",
    ...["  1 load, parent null, calls 3 to 3, of 2", "  2 ask, parent null, calls 3 to 3, of 2"],
    ...["  3 turn, parent 2, calls 3 to 4, of 2", "  4 cell, parent 3, calls 4 to 4, of 2"],
    "  5 turn, parent 2, calls 4 to 5, of 2",
    ...["6 turn, parent 3, calls 5 to 6, of null", "7 turn, parent 3, calls 6 to 7, of null"],
    "8 cell, parent 7, calls 7 to 7, of null",
  ]);
  const model = modelled(trace);
  expect(Array.from({ length: 4 }, (_, call) => lineOf(model, call))).toEqual([
    "exec 3 number 1 asked 1000 queue 500 run 500 model 1 input 100 output 20 micro 10000 delivery - plen 11 alen 88",
    "exec 4 number 1 batch 1 asked 1000 queue 1500 run 500 kind 2 model 1 input 100 output 20 micro 10000 tries 1 delivery - plen 11 alen 2",
    // The call took $0.05 and 900 tokens. Its child has spent $0.02, 200 tokens in and 40 out, of these.
    "exec 4 number 2 asked 2000 queue 2500 run 500 model 1 input 700 micro 30000 resent 1 delivery - plen 15 alen 10",
    "exec 7 number 1 asked 1000 queue 500 run 500 model 1 input 100 output 20 micro 10000 delivery - plen 11 alen 62",
  ]);
  expect(textsIn(trace)[2]).toEqual(["Which of these?", "the second"]);
  expect(textsIn(trace)[trace.head.calls + 4]).toEqual([
    ...["for (const part of parts) await llm_query(part)", "hm\n", "", "", "", ""],
  ]);
});

test("the calls and the dollars of the classes are those of the description, children included", () => {
  const sumOf = (session: ReturnType<typeof sessionOf>) => {
    const { kinds, nanos } = modelled(traced(session)).sums;
    expect(kinds.reduce((sum, kind) => sum + kind.nanos, 0)).toBe(nanos);
    return { calls: kinds.reduce((sum, { calls }) => sum + calls, 0), usd: nanos / 1e9 };
  };
  const session = asked();
  const own = session.execs.filter(({ ask }) => !ask).reduce((sum, { cost_usd }) => sum + cost_usd, 0);
  expect(sumOf(session)).toEqual({ calls: 5 + 2, usd: expect.closeTo(own, 9) });
  fc.assert(
    fc.property(journals, (records) => {
      const execs = describeExecs(records);
      const usd = execs.reduce((sum, { cost_usd }) => sum + cost_usd, 0);
      const calls = execs.reduce((sum, one) => sum + one.calls.length, 0);
      expect(sumOf(sessionOf(execs))).toEqual({ calls, usd });
    }),
  );
});

/** A batch of six that a kill met after two answers, and a call each that the cache, a rule and a provider ended. */
function killed() {
  const journal = openJournal(1000);
  journal.start("cell", "cell", "await llm_query_batch(parts)");
  for (let call = 1; call <= 6; call++) journal.call("cell", call, "llm_query", [`part ${call}`, null, { id: 1 }]);
  journal.result("cell", 1, "llm_query", "one");
  journal.result("cell", 2, "llm_query", { code: "timeout", message: "late" }, { success: false });
  journal.result("cell", 3, "llm_query", "three");
  const at = journal.records.at(-1)?.at ?? 0;
  journal.resume("cell", ["cell.4", "cell.5", "cell.6"]);
  // The process was away for an hour.
  const gap = 3_600_000;
  journal.records.push({ ...(journal.records.pop() ?? never()), at: at + gap });
  const later = openJournal(at + gap);
  later.result("cell", 4, "llm_query", "four");
  later.result("cell", 5, "llm_query", "five", { cached: true, usage: NOTHING });
  const refused = { success: false, refused: true, usage: NOTHING };
  later.result("cell", 6, "llm_query", { code: "budget_exceeded", message: "no" }, refused);
  later.call("cell", 7, "llm_query", ["part 7"]);
  return sessionOf(describeExecs([...journal.records, ...later.records]));
}

const NOTHING = { input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 };

function never(): never {
  throw new Error("the journal is empty");
}

test("a call costs what it cost: kept before a kill, paid after it, lost, cached, refused or still open", () => {
  const model = modelled(traced(killed()));
  const kinds = Array.from({ length: 7 }, (_, call) => KINDS[model.columns.of("kind", call)]);
  expect(kinds).toEqual(["kept", "lost", "kept", "paid", "cached", "refused", "pending"]);
  expect(Array.from({ length: 7 }, (_, call) => model.columns.of("resent", call))).toEqual([0, 0, 0, 1, 1, 1, 0]);
  expect(model.columns.nanos(0)).toBe(10_000_000);
  // A call that the cache answered is not in flight, though its record has a time.
  expect(model.sums).toMatchObject({ most: 1, failed: 2, resent: 3 });
  // An hour without a process counts in no duration.
  expect(model.clock.running).toBeLessThan(20_000);
  expect(model.clock.cuts).toMatchObject([{ ms: 3_600_000 }]);
  const [asked, ended] = [model.asked(3), model.ended(3)];
  expect(ended - asked).toBeGreaterThan(3_600_000);
  expect(model.clock.lived(ended) - model.clock.lived(asked)).toBeLessThan(10_000);
});

test("a damaged session says what cannot be read, a child without description is named, and settings have the budget", () => {
  const damaged = ["records 3 to 5 of s are missing"];
  const settings = { settings: { max_cost_usd: 2 } };
  const execs = asked().execs.map((exec) => ({
    ...exec,
    calls: exec.calls.map((call) => ({ ...call, child: call.child && { ...call.child, description: null } })),
  }));
  const told = { damaged, budget_usd: 2, left_out: ["the child 01CHILDAAAAAAAAAAAAAAAAAAA"] };
  expect(traced(sessionOf(execs, { damaged, settings })).head.session).toMatchObject(told);
  const bare = traced(sessionOf(execs, { damaged, settings: { max_cost_usd: 3 } }), { texts: false }).head.session;
  expect(bare).toMatchObject({ damaged: ["1 damaged part"], budget_usd: 3, name: null });
});

test("texts are cut to what the file may take: the newest stay, old errors keep more than old answers", () => {
  const journal = openJournal(0);
  journal.start("cell", "cell", "ask many");
  const noise = (seed: number) => Array.from({ length: 400 }, (_, at) => Math.imul(seed + 7, at + 3) % 99991).join(" ");
  for (let call = 1; call <= 400; call++) {
    const failed = call === 2 ? { success: false, value: { code: "timeout", message: noise(2) } } : {};
    journal.call("cell", call, "llm_query", [`${call} ${noise(call)}`]);
    journal.result("cell", call, "llm_query", noise(-call), failed);
  }
  const session = sessionOf(describeExecs(journal.records));
  const whole = traced(session);
  expect(whole.head).toMatchObject({ texts: "all", cut_texts: 0 });
  const maxBytes = 400_000;
  const { head, rows, pages, chunks } = traced(session, { maxBytes });
  const bytes = [...pages, ...chunks].reduce((sum, { length }) => sum + length, 0);
  expect((bytes * 4) / 3).toBeLessThan(maxBytes);
  expect(head.texts).toBe("cut");
  const texts = textsIn({ head, rows, pages, chunks });
  expect(head.cut_texts).toBe(texts.slice(0, 400).filter(([prompt = ""]) => prompt.length === 40).length);
  expect([texts[0], texts[399]].map((one) => one?.map(({ length }) => length))).toEqual([
    [40, 40],
    textsIn(whole)[399]?.map(({ length }) => length),
  ]);
  expect(texts[1]?.[1]).toHaveLength(400);
});

test("a key is replaced before its text is cut, so that nothing of it is left", () => {
  const journal = openJournal(0);
  const key = `sk-${"a".repeat(40)}`;
  const prompt = `${"x ".repeat(24 * 1024 - 10)}${key} ${"y".repeat(30_000)}`;
  journal.start("cell", "cell", `ask('${key}')`);
  journal.call("cell", 1, "llm_query", [prompt]);
  const trace = traced(sessionOf(describeExecs(journal.records)));
  expect(trace.head).toMatchObject({ redacted: 2, texts: "cut", cut_texts: 1 });
  const all = JSON.stringify([trace.head, textsIn(trace)]);
  expect(all).not.toContain("sk-a");
  expect(trace.head.execs[0]?.label).toBe("ask('[redacted: 43 characters]')");
});

test("coverage is a strip by grade, and the documents of each grade, the largest first", () => {
  const documents = [
    ...[
      { id: "a", start: 0, end: 300 },
      { id: "b", start: 300, end: 400 },
    ],
    ...[
      { id: "c", start: 400, end: 700 },
      { id: "d", start: 700, end: 1200 },
    ],
  ];
  const ranges = { shown: [[0, 100]], found: [[310, 311]], ranked: [], given: [[0, 200]], printed: [] } as const;
  const covered = sumCoverage({ hash: "h", length: 1200, documents: listedDocuments(documents) }, [
    { coverage: { context_hash: "h", ranges } },
  ]);
  const { coverage } = traced(asked(), { covered }).head;
  expect(coverage?.told).toBe(coverageLine(covered.totals));
  expect(coverage?.documents).toEqual([
    ...[
      { count: 1, largest: [["a", 300]] },
      { count: 1, largest: [["b", 100]] },
      { count: 0, largest: [] },
    ],
    ...[
      { count: 0, largest: [] },
      {
        count: 2,
        largest: [
          ["d", 500],
          ["c", 300],
        ],
      },
    ],
  ]);
  const [shown = [], found = [], , touched = []] = coverage?.strip ?? [];
  // Two characters are a stretch.
  expect(shown.map((share, at) => (share === (at < 50 ? 100 : 0) ? "" : at)).join("")).toBe("");
  expect([found[155], found[156], touched[99], touched[100]]).toEqual([50, 0, 100, 0]);
});
