import fc from "fast-check";
import { expect, test } from "vitest";
import type { Json } from "../../../../runtime/index.ts";
import { idleState } from "../../../../runtime/running.ts";
import { textFromString } from "../../../../src/context/text/text.ts";
import { type Coverage, coverageIn, SETS } from "../../../../src/session/journal/coverage.ts";
import { type CellOver, openCoverage } from "../../../../src/session/machine/coverage.ts";
import { openPassages } from "../../../../src/session/machine/passages.ts";
import { packNumbers, rangesIn, unpackNumbers } from "../../../../src/session/machine/ranges.ts";

/** A text of which no 64 characters stand in it twice. */
const TEXT = Array.from({ length: 3000 }, (_, at) => `line ${at}: ${at % 5 === 0 ? "ärger 😀" : "words"} of it\n`).join(
  "",
);

const quote = (start: number, end: number) => TEXT.slice(start, end);

const over = (more: { stdout?: string; result?: string; warnings?: string[]; isForModel?: boolean } = {}): CellOver => {
  const { stdout = "", result = "null", warnings = [], isForModel = true } = more;
  const state = { ...idleState(), warnings };
  state.output.stdout = stdout;
  return { end: { kind: "ok", result, meta: null }, state, isForModel };
};

/** The ranges of a record by set, without the empty ones. */
function setsOf(coverage: Coverage | null) {
  const all = SETS.map((set) => [set, rangesIn(coverage?.ranges?.[set] ?? "", Number.POSITIVE_INFINITY)] as const);
  return Object.fromEntries(all.filter(([, ranges]) => ranges.length > 0));
}

test("passages of what was given are found wherever they were cut, and go on to both sides while they are the same", () => {
  const passages = openPassages(textFromString(TEXT));
  passages.note(5000, 5300);
  passages.note(40_000, 40_200);
  const prompt = `Look: ${quote(5013, 5290)}§ and ${quote(5100, 5163)} ${quote(7000, 9000)}${quote(39_990, 48_200)}`;
  expect([...passages.in(prompt)]).toEqual([
    [5013, 5290],
    [39_990, 48_200],
  ]);
  for (let start = 5000; start + 127 <= 5300; start++) {
    expect([...passages.in(`a${quote(start, start + 127)}§`)]).toEqual([[start, start + 127]]);
  }
  expect([...passages.in("")]).toEqual([]);
  expect([...openPassages(textFromString(TEXT)).in(prompt)]).toEqual([]);
});

test("a range beyond P is none, and the last 64 characters of P can be known", () => {
  const units = 64 * 20;
  const passages = openPassages(textFromString(TEXT.slice(0, units)));
  passages.note(units, 1e12);
  passages.note(Number.NaN, 1e12);
  passages.note(-5, Number.NEGATIVE_INFINITY);
  expect([...passages.in(TEXT.slice(0, units))]).toEqual([]);
  passages.note(units - 64, 1e300);
  expect([...passages.in(TEXT.slice(units - 64, units))]).toEqual([[units - 64, units]]);
});

test("where P repeats itself, what follows is recognised all the same", () => {
  const rule = "=".repeat(150);
  const texts = Array.from({ length: 40 }, (_, at) => `${rule}\n${TEXT.slice(at * 700, at * 700 + 613)}\n`);
  const passages = openPassages(textFromString(texts.join("")));
  for (let at = 0; at < texts.length * 765; at += 765) passages.note(at, at + 765);
  const prompt = `Which?\n${texts[7]?.slice(40)}${texts[3]}END`;
  const found = [...passages.in(prompt)];
  for (const [start, end] of found) expect(prompt).toContain(texts.join("").slice(start, end));
  for (const [start, end] of [
    [7 * 765 + 150, 8 * 765],
    [3 * 765 + 150, 4 * 765],
  ] as const) {
    expect(found.some(([from, to]) => from <= start && end <= to)).toBe(true);
  }
  // Neither what repeats itself in the prompt nor in P makes it slow.
  const same = openPassages(textFromString("x".repeat(200_000)));
  same.note(199_900, 200_000);
  expect([...same.in("x".repeat(1_000_000))].length).toBeLessThan(40_000);
});

test("with all of a long P known, passages of 64 characters and a 65,536th of P are found wherever they were cut", () => {
  const lines = Array.from({ length: 700_000 }, (_, at) => `${at * 7919} of ${at}`);
  const long = lines.join("\n");
  const passages = openPassages(textFromString(long));
  for (let start = 0; start < long.length; start += 500_000) {
    passages.note(start, start + 500_000);
    // It makes no difference that a range is known early.
    if (start % 2_000_000 === 0)
      expect([...passages.in(long.slice(start, start + 400))]).toEqual([[start, start + 400]]);
  }
  const units = 64 + Math.ceil(long.length / 65_536 / 64) * 64;
  expect(units).toBeGreaterThan(128);
  const whole = openPassages(textFromString(long));
  whole.note(0, long.length);
  for (let start = 3_000_001; start < 3_000_200; start++) {
    for (const one of [passages, whole]) {
      expect([...one.in(`§${long.slice(start, start + units)}§`)]).toEqual([[start, start + units]]);
    }
  }
});

test("packed numbers are the same again", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(2 ** 31 - 1)), (numbers) => {
      expect([...unpackNumbers(packNumbers(numbers))]).toEqual(numbers);
    }),
  );
});

test("what a root model reads of a cell's end counts as printed: all of it, or the beginning of what may be cut", () => {
  const count = openCoverage(textFromString(TEXT), "h");
  const printedWith = (end: CellOver) => {
    count.begin();
    count.given(0, 30_000, "given");
    return setsOf(coverageIn(count.kept(end))).printed ?? [];
  };
  const stdout = `so: ${quote(10_000, 18_000)}\n`;
  expect(printedWith(over({ stdout }))).toEqual([[10_000, 18_000]]);
  expect(printedWith(over({ stdout, isForModel: false }))).toEqual([]);
  expect(printedWith(over({ stdout, warnings: ["find_results_capped"] }))).toEqual([[10_000, 15_996]]);
  const result = JSON.stringify({ parts: [quote(100, 1000), 7], more: { text: quote(2000, 2200) } });
  expect(printedWith(over({ stdout, result }))).toEqual([
    [100, 1000],
    [2000, 2200],
    [10_000, 18_000],
  ]);
  expect(printedWith(over({ stdout, result: JSON.stringify(quote(100, 2500)) }))).toEqual([[10_000, 15_996]]);
  const { end, ...others } = over({ stdout: quote(10_000, 17_000) });
  expect(end.kind).toBe("ok");
  expect(printedWith({ ...others, end: { kind: "timeout" } })).toEqual([[10_000, 16_000]]);
});

/** What a cell may do. */
type Act = {
  readonly kind: "given" | "ranked" | "matched" | "sent" | "context";
  readonly start: number;
  readonly units: number;
};

const act: fc.Arbitrary<Act> = fc.record({
  kind: fc.constantFrom("given", "ranked", "matched", "sent", "context"),
  start: fc.nat(TEXT.length),
  units: fc.oneof(fc.nat(400), fc.constant(64)),
});

test("an exec that goes on with what was kept has the coverage of one that was never interrupted, and so has the next", () => {
  const text = textFromString(TEXT);
  const steps = fc.array(fc.tuple(act, fc.boolean()), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(fc.array(steps, { minLength: 1, maxLength: 3 }), (cells) => {
      let [whole, cut] = [openCoverage(text, "h"), openCoverage(text, "h")];
      const earlier: string[] = [];
      let given = { start: 0, units: 0 };
      for (const acts of cells) {
        for (const count of [whole, cut]) count.begin();
        for (const [{ kind, start, units }, isInterrupted] of acts) {
          for (const count of [whole, cut]) {
            if (kind === "given" || kind === "ranked") count.given(start, start + units, kind);
            if (kind === "matched") count.matched([[start, start + units]]);
            if (kind === "sent") count.sent({ prompt: `of it: ${text.slice(given.start + 3, given.start + units)}§` });
            if (kind === "context") count.sent({ prompt: "x", context: { ranges: [[start, start + units + 1]] } });
          }
          if (kind === "given" || kind === "ranked") given = { start, units };
          // At a step both are asked for what is kept; one of them goes on with it in another process.
          const kept: Json = JSON.parse(JSON.stringify(whole.kept(null)));
          expect(cut.kept(null)).toEqual(kept);
          if (!isInterrupted) continue;
          cut = openCoverage(text, "h", earlier);
          cut.resume(kept);
        }
        const end = over({ stdout: text.slice(given.start, given.start + 300) });
        const kept = whole.kept(end);
        expect(cut.kept(end)).toEqual(kept);
        const { ranges } = coverageIn(kept) ?? {};
        earlier.push(ranges?.given ?? "", ranges?.ranked ?? "");
      }
    }),
    { numRuns: 15 },
  );
});

test("an exec that goes on without what was kept of it has no coverage: a part of it is not the whole", () => {
  const text = textFromString(TEXT);
  const count = openCoverage(text, "mine");
  const empty = { shown: "", found: "", ranked: "", given: "", printed: "" };
  const nothing = { context_hash: "mine", ranges: empty };
  const step = { ...nothing, ranges: { ...empty, given: packNumbers([0, 500]) } };
  for (const kept of [
    null,
    "x",
    { ...step, context_hash: "other" },
    { ...step, ranges: 7 },
    { context_hash: "mine" },
  ]) {
    count.resume(kept);
    count.given(0, 100, "given");
    expect(count.kept(null)).toBeNull();
    expect(count.kept(over())).toBeNull();
  }
  count.begin();
  count.sent({ prompt: quote(0, 15) });
  expect(count.kept(over())).toEqual(nothing);
  count.resume(step);
  count.sent({ prompt: quote(10, 400) });
  expect(setsOf(coverageIn(count.kept(over())))).toEqual({ given: [[0, 500]], shown: [[10, 400]] });
  expect(coverageIn({ ...step, more: 1 })).toEqual(step);
  expect(coverageIn(null)).toBeNull();
});

test("100,000 ranges in a cell stay within 8,192, and what was joined is told", () => {
  const text = textFromString("x".repeat(2_000_000));
  const count = openCoverage(text, "h");
  const ranges = Array.from({ length: 100_000 }, (_, at) => [at * 20, at * 20 + 5] as const);
  count.matched(ranges);
  for (const [start] of ranges) count.given(start + 1, start + 2, "given");
  const coverage = coverageIn(count.kept(over()));
  const { found = [], given = [] } = setsOf(coverage);
  expect([found.length, given.length]).toEqual([8192, 8192]);
  const units = (all: readonly (readonly [number, number])[]) =>
    all.reduce((sum, [start, end]) => sum + end - start, 0);
  expect(units(found) - 500_000).toBe(coverage?.joined?.found);
  expect(units(given) - 100_000).toBe(coverage?.joined?.given);
  expect(coverage?.joined).not.toHaveProperty("shown");
  expect(JSON.stringify(coverage).length).toBeLessThan(100_000);
});

test("a resume between ranges that are joined changes nothing", () => {
  const text = textFromString("x".repeat(2_000_000));
  let count = openCoverage(text, "h");
  const look = (from: number, to: number) => {
    for (let number = from; number < to; number++) {
      // Each is far from the one before, and the gaps between them differ.
      const at = 20 * ((number * 7919) % 100_000);
      count.matched([[at + (at % 13), at + 5 + (at % 13)]]);
    }
    return count.kept(null);
  };
  const kept = look(0, 50_000);
  const whole = look(50_000, 100_000);
  count = openCoverage(text, "h");
  count.resume(kept);
  expect(look(50_000, 100_000)).toEqual(whole);
});
