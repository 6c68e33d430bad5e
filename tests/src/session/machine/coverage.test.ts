import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { Json } from "../../../../runtime/index.ts";
import { textFromString } from "../../../../src/context/text/text.ts";
import { coverageIn } from "../../../../src/session/journal/coverage.ts";
import { openCoverage, openStretches, STRETCHES } from "../../../../src/session/machine/coverage.ts";
import { packNumbers, unpackNumbers } from "../../../../src/session/machine/packed-numbers.ts";
import { openPassages, type Passages } from "../../../../src/session/machine/passages.ts";

vi.setConfig({ testTimeout: 30_000 });

/** The numbers of the stretches that are set. */
function numbersIn(base64 = ""): number[] {
  const bytes = Buffer.from(base64, "base64");
  return Array.from({ length: bytes.length * 8 }, (_, at) => at).filter(
    (at) => ((bytes[at >> 3] ?? 0) >> (at & 7)) & 1,
  );
}

/** A text of which no 64 characters stand in it twice. */
const TEXT = Array.from({ length: 3000 }, (_, at) => `line ${at}: ${at % 5 === 0 ? "ärger 😀" : "words"} of it\n`).join(
  "",
);

test("a range sets the stretches that one of its characters lies in, and no other", () => {
  const bounds = fc.tuple(fc.nat(5000), fc.nat(5000)).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6000 }), fc.array(bounds, { maxLength: 4 }), (length, ranges) => {
      const stretches = openStretches(length);
      for (const [start, end] of ranges) stretches.add(start, end);
      // A stretch is from `at` to `at + 1` 2048ths of the text.
      const touched = Array.from({ length: STRETCHES }, (_, at) => at).filter((at) =>
        ranges.some(
          ([start, end]) =>
            start < end && start * STRETCHES < (at + 1) * length && at * length < Math.min(end, length) * STRETCHES,
        ),
      );
      expect(numbersIn(stretches.toString())).toEqual(touched);
    }),
    { examples: [[4990, [[4989, 4989]]]], numRuns: 1000 },
  );
});

test("bits that are kept are there again, and no kept text sets more of them than there are", () => {
  const stretches = openStretches(1_000_000);
  stretches.add(500_000, 510_000);
  const again = openStretches(1_000_000, stretches.toString());
  again.add(0, 1);
  expect(numbersIn(again.toString())).toEqual([0, ...numbersIn(stretches.toString())]);
  expect(openStretches(10).toString()).toBe("");
  expect(numbersIn(openStretches(10, Buffer.alloc(9999, 255).toString("base64")).toString())).toHaveLength(STRETCHES);
});

test("a prompt's passages begin where a range began that was given before, and go on while they are the same", () => {
  const text = textFromString(TEXT);
  const passages = openPassages(text);
  for (const start of [1000, 5000, 40_000]) passages.note(start);
  const quote = (start: number, end: number) => text.slice(start, end);
  const prompt = `Look: ${quote(5000, 5300)}§ and ${quote(1000, 1064)} and ${quote(1000, 1063)}§ ${quote(7000, 9000)}${quote(40_000, 48_200)}`;
  expect([...passages.in(prompt)]).toEqual([
    [5000, 5300],
    [1000, 1064],
    [40_000, 48_200],
  ]);
  expect([...passages.in(quote(5000, 5063))]).toEqual([]);
  expect([...passages.in("")]).toEqual([]);
  expect([...openPassages(text).in(prompt)]).toEqual([]);
});

const startsOf = (passages: Passages) => [...unpackNumbers(passages.kept())];

test("packed numbers are the same again, and other text is read without harm", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(2 ** 31 - 1)), (numbers) => {
      expect([...unpackNumbers(packNumbers(numbers))]).toEqual(numbers);
    }),
  );
  const wide = openPassages(textFromString(TEXT));
  const endless = `${"/".repeat(4000)}AAAA`;
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.constant(endless)), (text) => {
      wide.restore(text);
      return startsOf(wide).every((start) => start >= 0 && start < TEXT.length);
    }),
  );
});

test("a range at the end of P, or beyond it, is no beginning of a passage", () => {
  const text = textFromString(TEXT);
  const passages = openPassages(text);
  for (const start of [text.length - 63, text.length, 1e12, text.length - 64]) passages.note(start);
  expect(startsOf(passages)).toEqual([text.length - 64]);
  expect([...passages.in(TEXT.slice(-64))]).toEqual([[text.length - 64, text.length]]);
});

test("the newest 20,000 beginnings are known", () => {
  const text = textFromString(TEXT);
  const passages = openPassages(text);
  for (let start = 0; start < 20_010; start++) passages.note(start);
  expect(startsOf(passages)).toHaveLength(20_000);
  expect(startsOf(passages)[0]).toBe(10);
  for (let start = 0; start < 100_000; start++) passages.note(start % 30_000);
  expect(startsOf(passages)).toHaveLength(20_000);
  expect(startsOf(passages).at(-1)).toBe(9999);
});

/** What a cell may do. */
type Act = { readonly kind: "read" | "matched" | "sent" | "context"; readonly start: number; readonly units: number };

const act: fc.Arbitrary<Act> = fc.record({
  kind: fc.constantFrom("read", "matched", "sent", "context"),
  start: fc.nat(TEXT.length),
  // Many passages begin at the same few places.
  units: fc.oneof(fc.nat(400), fc.constant(64)),
});

test("an exec that goes on with what was kept has the coverage of one that was never interrupted", () => {
  const text = textFromString(TEXT);
  const steps = fc.array(fc.tuple(act, fc.boolean()), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(steps, (acts) => {
      let [whole, cut] = [openCoverage(text, "h"), openCoverage(text, "h")];
      whole.begin();
      cut.begin();
      let given = { start: 0, units: 0 };
      for (const [{ kind, start, units }, isInterrupted] of acts) {
        for (const count of [whole, cut]) {
          if (kind === "read") count.read(start, start + units);
          if (kind === "matched") count.matched([[start, start + units]]);
          if (kind === "sent") count.sent({ prompt: `of it: ${text.slice(given.start, given.start + units)}§` });
          if (kind === "context") count.sent({ prompt: "x", context: { ranges: [[start, start + units + 1]] } });
        }
        if (kind === "read" || kind === "matched") given = { start, units };
        // At a step both are asked for what is kept; one of them goes on with it in another process.
        const kept: Json = JSON.parse(JSON.stringify(whole.kept(false)));
        expect(cut.kept(false)).toEqual(kept);
        if (!isInterrupted) continue;
        cut = openCoverage(text, "h");
        cut.resume(kept);
      }
      expect(cut.kept(true)).toEqual(whole.kept(true));
    }),
    { numRuns: 60 },
  );
});

test("an exec that goes on without what was kept of it has no coverage: a part of it is not the whole", () => {
  const text = textFromString(TEXT);
  const count = openCoverage(text, "mine");
  const nothing = { context_hash: "mine", read: "", matched: "", sent: "" };
  const full = { ...nothing, read: Buffer.alloc(256, 255).toString("base64"), starts: "AAAA" };
  for (const kept of [null, "x", { ...full, context_hash: "other" }, { ...full, starts: 7 }]) {
    count.resume(kept);
    count.read(0, 100);
    expect(count.kept(false)).toBeNull();
    expect(count.kept(true)).toBeNull();
  }
  count.begin();
  expect(count.kept(true)).toEqual(nothing);
  count.resume(full);
  expect(coverageIn(count.kept(true))).toEqual({ ...nothing, read: full.read });
  expect(coverageIn({ ...full, more: 1 })).toEqual({ ...nothing, read: full.read });
  expect(coverageIn(null)).toBeNull();
});

test("coverage stays small: 1 KB for the record, and at a step 2 bytes for each beginning", () => {
  const text = textFromString("x".repeat(1_000_000));
  const count = openCoverage(text, "h");
  count.matched(Array.from({ length: 50_000 }, (_, at) => [at * 20, at * 20 + 5] as const));
  count.read(0, 1_000_000);
  count.sent({ prompt: "all", context: { whole: true } });
  expect(JSON.stringify(count.kept(true)).length).toBeLessThan(1150);
  expect(JSON.stringify(count.kept(false)).length).toBeLessThan(60_000);
});
