import fc from "fast-check";
import { expect, test } from "vitest";
import { describeSession, describeWhole } from "../../../../src/history/index.ts";
import { type CoverageSet, SETS, type ToldCoverage } from "../../../../src/session/journal/coverage.ts";
import {
  coverageLine,
  coverageSentence,
  listedDocuments,
  NEVER,
  sumCoverage,
} from "../../../../src/session/journal/coverage-sums.ts";
import { forkSession } from "../../../../src/session/stored/sessions.ts";
import { openScripted } from "../../../support/scripted-session.ts";

const NO_RANGES = { shown: [], found: [], ranked: [], given: [], printed: [] };

function toldOf(more: Partial<ToldCoverage> = {}): ToldCoverage {
  return { context_hash: "h", ranges: NO_RANGES, ...more };
}

const GRADES = ["shown", "found", "ranked", "touched", "never"] as const;
const GRADE_OF: Record<CoverageSet, number> = { shown: 0, printed: 0, found: 1, ranked: 2, given: 3 };

/** Documents by their sizes, with a separator of 3 characters before each. */
function contextOf(sizes: readonly number[]) {
  let at = 0;
  const documents = sizes.map((size, number) => {
    const start = at + 3;
    at = start + size;
    return { id: `d${number}`, start, end: at };
  });
  return { hash: "h", length: at, documents };
}

/** The sums of these execs, and the documents that none of them opened. */
function summed(context: ReturnType<typeof contextOf>, execs: Parameters<typeof sumCoverage>[1]) {
  const { totals, largest } = sumCoverage({ ...context, documents: listedDocuments(context.documents) }, execs);
  const unread = largest(NEVER, Number.POSITIVE_INFINITY).map(({ id, chars }) => ({ id, chars }));
  return { totals, unread };
}

const range = fc
  .tuple(fc.nat(90), fc.integer({ min: 1, max: 30 }))
  .map(([start, units]) => [start, start + units] as const);
const exec = fc.array(fc.tuple(fc.constantFrom(...SETS), range), { maxLength: 6 });

test("the sums of characters and documents are those of a count of every character", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(20), { minLength: 1, maxLength: 6 }),
      fc.array(exec, { maxLength: 4 }),
      (sizes, execs) => {
        const context = contextOf(sizes);
        const best = Array.from({ length: context.length }, () => 4);
        for (const [set, [start, end]] of execs.flat()) {
          for (let at = start; at < Math.min(end, context.length); at++) {
            best[at] = Math.min(best[at] ?? 4, GRADE_OF[set]);
          }
        }
        const documents = context.documents.filter(({ start, end }) => start < end);
        const charactersOf = (grade: number) =>
          documents.reduce(
            (sum, { start, end }) => sum + best.slice(start, end).filter((one) => one === grade).length,
            0,
          );
        const gradeOf = ({ start, end }: { start: number; end: number }) => Math.min(...best.slice(start, end));
        const coverage = execs.map((pairs) => {
          const ranges = Object.fromEntries(
            SETS.map((set) => [set, pairs.filter(([of]) => of === set).map(([, one]) => one)]),
          );
          return { coverage: toldOf({ ranges: { ...NO_RANGES, ...ranges } }) };
        });
        const { totals, unread } = summed(context, coverage);
        expect(totals).toEqual({
          context_hash: "h",
          chars: documents.reduce((sum, { start, end }) => sum + end - start, 0),
          ...Object.fromEntries(GRADES.map((grade, at) => [grade, charactersOf(at)])),
          ...{ joined: 0, not_recorded: 0 },
          documents: {
            total: documents.length,
            ...Object.fromEntries(
              GRADES.map((grade, at) => [grade, documents.filter((one) => gradeOf(one) === at).length]),
            ),
          },
        });
        const never = documents
          .filter((one) => gradeOf(one) === 4)
          .map(({ id, start, end }) => ({ id, chars: end - start }));
        expect(unread).toEqual(never.sort((one, other) => other.chars - one.chars));
      },
    ),
    { numRuns: Number(process.env.BELAY_SEEDS ?? 60) },
  );
});

test("what was read and opened whole is told without figures that say nothing", () => {
  const whole = (shown: readonly (readonly [number, number])[], lengths: readonly number[]) =>
    summed(contextOf(lengths), [{ coverage: toldOf({ ranges: { ...NO_RANGES, shown } }) }]).totals;
  expect(coverageSentence(whole([[0, 200]], [97]), "belay show s --unread")).toBe(
    "A model read all 97 characters; its document was opened.",
  );
  expect(coverageSentence(whole([[0, 400]], [97, 97]))).toBe(
    "A model read all 194 characters; all 2 documents were opened.",
  );
  expect(coverageLine(whole([[0, 400]], [97, 97]))).toBe(
    "shown all 194 characters · found 0 % · ranked 0 % · touched 0 % · all 2 documents were opened",
  );
  expect(coverageSentence(whole([[0, 10]], [97, 97]))).toMatch(/^A model read at least .* never opened: 1 of 2/);
});

test("joined characters are left out of their grade, and their documents do not count as never opened", () => {
  const context = contextOf([97, 97, 97]);
  const ranges = { ...NO_RANGES, found: [[0, 150]], given: [[140, 200]] } as const;
  const { totals, unread } = summed(context, [{ coverage: toldOf({ ranges, joined: { found: 40 } }) }]);
  // 97 and 47 characters of two documents, and 50 that only were touched.
  expect(totals).toMatchObject({ found: 104, touched: 50, never: 291 - 154, joined: 40 });
  expect(totals.documents).toMatchObject({ found: 2, touched: 0, never: 1 });
  expect(unread).toEqual([{ id: "d2", chars: 97 }]);
  expect(coverageSentence(totals)).toBe(
    "A model read at least 0 % of 291 characters; never opened: at least 1 of 3 documents.",
  );
});

test("a session tells what its execs looked at since the last load; an append adds to P, and a fork has what was until then", async () => {
  const { session, store } = await openScripted(() => "ok");
  const told = async (id = session.id) => (await describeSession(store, id)).coverage;
  expect(await told()).toBeNull();
  expect((await describeWhole(store, session.id)).covered).toBeNull();
  await session.load({ text: "old", name: "old" });
  await session.exec("peek_doc('old')");
  const text = Array.from({ length: 80 }, (_, at) => `word ${at * 7919}`).join(" ");
  await session.load({ text, name: "one" });
  expect(await told()).toMatchObject({ touched: 0, documents: { total: 1, never: 1 }, never_opened: ["one"] });
  await session.exec("globalThis.kept = peek_doc('one', 0, 500)");
  await session.loadAppend({ text: "short", name: "two" });
  await session.loadAppend({ text: `${text}.`, name: "three" });
  const before = await session.exec("await llm_query(kept.slice(10, 300)); find('short')");
  expect(before).toMatchObject({ success: true });
  const coverage = { shown: 290, found: 5, touched: 210, documents: { shown: 1, found: 1, never: 1 } };
  expect(await told()).toMatchObject({ ...coverage, not_recorded: 0, never_opened: ["three"] });
  const { covered } = await describeWhole(store, session.id);
  expect(covered?.largest(NEVER, 9)).toEqual([{ at: 2, id: "three", chars: text.length + 1 }]);
  const ends = covered?.length ?? 0;
  expect([covered?.gradeAt(ends - 1), covered?.gradeAt(0), covered?.gradeAt(ends + 9)]).toEqual([NEVER, 0, null]);

  const forking = {
    id: "01FORK",
    name: "fork",
    origin: "library",
    checkpoint: null,
    at: 1,
    settings: () => null,
  } as const;
  const { id } = await forkSession(store, session.id, forking);
  await session.exec("peek_doc('three')");
  expect(await told()).toMatchObject({ documents: { never: 0 }, never_opened: [] });
  expect(await told(id)).toMatchObject(coverage);
});
