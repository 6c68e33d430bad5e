import { expect, test } from "vitest";
import { chunksIn, type Span } from "../../../../src/context/search/chunks.ts";
import { type Plan, partsIn, planOf, spansOf } from "../../../../src/context/search/plan.ts";
import { type Text, textFromString } from "../../../../src/context/text/text.ts";
import { largeText } from "../../../support/large-context.ts";

const MB = 1024 * 1024;

/** Text of 6 MB: lines of several lengths, some of them not ASCII, and two without an end for long. */
const P = [
  Array.from({ length: 70_000 }, (_, n) => `${n} größe 😀 ${"word ".repeat(n % 7)}\n`).join(""),
  "😀".repeat(300_000),
  "x".repeat(3 * MB),
  "\nend\n",
].join("");

const partsOf = (plan: Plan) => Array.from({ length: partsIn(plan) }, (_, part) => spansOf(plan, part));

/** Ranges that meet, as one. */
function joined(spans: readonly Span[]): Span[] {
  const all: Span[] = [];
  for (const { start, end } of spans) {
    const last = all.at(-1);
    if (last?.end === start) all[all.length - 1] = { start: last.start, end };
    else all.push({ start, end });
  }
  return all;
}

const unitsIn = (spans: readonly Span[]) => spans.reduce((sum, { start, end }) => sum + end - start, 0);

/** A range whose ends are not inside a character. */
function span(start: number, end: number): Span {
  const [from, to] = [start, end].map((unit) => (isLow(P.charCodeAt(unit)) ? unit - 1 : unit));
  return { start: from ?? start, end: to ?? end };
}

const isLow = (unit: number) => unit >= 0xdc00 && unit < 0xe000;

const DOCUMENTS: Record<string, readonly Span[]> = {
  "one document": [span(0, P.length)],
  "many documents": Array.from({ length: P.length / 20_000 }, (_, n) => span(n * 20_000 + 7, (n + 1) * 20_000)),
  "small and large documents": [span(10, 20), span(30, 30), span(40, 2 * MB - 100), span(2 * MB, P.length - 10)],
};

test.each(Object.entries(DOCUMENTS))("parts of %s are all of them, and no part is too large", (_, documents) => {
  const large = largeText({ parts: [P.slice(0, 123_456), P.slice(123_456)] });
  for (const [text, most] of [
    [textFromString(P), 2 * MB + 1500],
    [large, 4 * MB],
  ] as const) {
    const parts = partsOf(planOf(text, documents));
    expect(joined(parts.flat())).toEqual(documents.filter(({ start, end }) => end > start));
    expect(parts.every((spans) => spans.length > 0 && unitsIn(spans) <= most)).toBe(true);
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.flat().some(({ start, end }) => isLow(P.charCodeAt(start)) || isLow(P.charCodeAt(end)))).toBe(false);
  }
});

const chunksOf = (text: Text, spans: readonly Span[]) => {
  const from = text.byteAt(spans[0]?.start ?? 0);
  const bytes = text.read(from, text.byteAt(spans.at(-1)?.end ?? 0));
  return Array.from(chunksIn(bytes, spans[0]?.start ?? 0, spans), ({ start, end }) => `${start}-${end}`);
};

test.each(Object.entries(DOCUMENTS))("the chunks of %s in memory do not depend on the parts", (_, documents) => {
  const text = textFromString(P);
  const parts = partsOf(planOf(text, documents)).flatMap((spans) => chunksOf(text, spans));
  expect(parts).toEqual(chunksOf(text, documents));
});

test("a text without documents has no parts", () => {
  expect(partsIn(planOf(textFromString("words"), []))).toBe(0);
  expect(partsIn(planOf(textFromString("words"), [{ start: 2, end: 2 }]))).toBe(0);
});

test("a part of a text in files ends with a line", () => {
  const lines = "a line of words\n".repeat(150_000);
  const text = largeText({ parts: [lines] });
  const plan = planOf(text, [{ start: 0, end: lines.length }]);
  expect(partsIn(plan)).toBe(2);
  expect(text.slice((plan.ends[0] ?? 0) - 6, plan.ends[0] ?? 0)).toBe("words\n");
});
