import fc from "fast-check";
import { expect, test } from "vitest";
import { openRuns } from "../../../../src/context/search/runs.ts";
import { openStems } from "../../../../src/context/search/stem-groups.ts";
import { stemOf, tokensOf } from "../../../../src/context/search/tokens.ts";
import { openWordTable, type WordTable } from "../../../../src/context/search/word-table.ts";
import { anyCharacter } from "../../../support/any-character.ts";

const SEED = 7;

function wordIn(table: WordTable, word: number): string {
  return table.bytes().toString("utf8", table.start(word), table.end(word));
}

/** The words of texts, one after the other in the same memory. */
function openWords(): (text: string) => string[] {
  const table = openWordTable(SEED);
  let words: string[] = [];
  const runs = openRuns(table, SEED, (word) => words.push(wordIn(table, word)));
  return (text) => {
    const bytes = Buffer.from(text);
    words = [];
    table.clear();
    runs.begin(bytes);
    expect(runs.each(0, bytes.length)).toBe(words.length);
    return words;
  };
}

const LETTERS = [..."aBcDeFx019__--  ./"];
const OTHERS = [..."éÉß漢字検索ไทยα…①ﬁ½ñ́😀한국\u0338\ufe0f\u00a0٣"];

/** Texts with many names. */
const name = fc.string({ unit: fc.constantFrom(...LETTERS), maxLength: 60 });
const mixed = fc.string({ unit: fc.constantFrom(...LETTERS, ...OTHERS), maxLength: 40 });
const long = fc.array(fc.constantFrom("a1", "Bc", "_", "-", "x", "9"), { minLength: 10, maxLength: 120 });

test("words are those of tokensOf, as often as it gives them", () => {
  const wordsOf = openWords();
  const text = fc.oneof(
    name,
    mixed,
    long.map((parts) => parts.join("")),
    fc.string({ unit: anyCharacter }),
    fc.array(mixed, { maxLength: 6 }).map((parts) => parts.join(" ")),
  );
  fc.assert(
    fc.property(text, (given) => {
      expect(wordsOf(given).toSorted()).toEqual(tokensOf(given).toSorted());
    }),
    { numRuns: 600 },
  );
});

test.each([
  "parseHTTPRequest XMLHttpRequest2 getURL2Path sha256Sum aB Ab AB ABc",
  "max_bytes max-bytes __init__ --dry-run_now- a-b a_b -a _a a- a_ -_ --",
  `${"a1".repeat(16)} ${"a1".repeat(17)} ${"x_".repeat(16)} ${"x_".repeat(17)}end ${"b-".repeat(16)}c ${"b-".repeat(17)}c`,
  `${"x_".repeat(17)}y-a-b ${"p_q-".repeat(9)}r 3f2a1b4c-9d8e-4f7a-b6c5-0123456789ab 2026-03-01T12:34:56.789Z`,
  "déployéMaxBytes größe_max naïve-Bayes 検索max_index ﬁle_name ①②③ x̸y été2été",
  "",
])("the words of %j", (given) => {
  expect(openWords()(given).toSorted()).toEqual(tokensOf(given).toSorted());
});

test("words that were met before are the same words in another text", () => {
  const wordsOf = openWords();
  const many = Array.from({ length: 20_000 }, (_, n) => `id-${(n * 2654435761) % 2 ** 32} word${n}`).join("\n");
  for (const text of [many, "few words", `${many} a`, "few words"]) {
    expect(wordsOf(text).toSorted()).toEqual(tokensOf(text).toSorted());
  }
});

test("each word is in the group of its stem, and each group in the bucket of its hash", () => {
  const endings = [
    "",
    "s",
    "ed",
    "ing",
    "y",
    "ational",
    "ness",
    "ic",
    "er",
    "ou",
    "ll",
    "e",
    "ment",
    "ism",
    "1e",
    "ly",
  ];
  const table = openWordTable(SEED);
  const stems = openStems(table);
  const letter = fc.constantFrom(..."aeioubcdlmnrstwxyz0é");
  const word = fc
    .tuple(fc.string({ unit: letter, maxLength: 8 }), fc.constantFrom(...endings))
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.array(word, { maxLength: 200 }), (words) => {
      table.clear();
      for (const each of words) {
        const bytes = Buffer.from(each);
        if (bytes.length > 0) table.numberOf(bytes, 0, bytes.length);
      }
      const count = table.count();
      const distinct = Array.from({ length: count }, (_, n) => wordIn(table, n));
      const { firsts, nexts, order, bucketEnds, buckets } = stems.groups(count);
      const groups = Array.from(order.subarray(0, bucketEnds[buckets - 1] ?? 0), (stem) => {
        const members: string[] = [];
        for (let at = firsts[stem] ?? 0; at !== 0; at = nexts[at - 1] ?? 0) members.push(wordIn(table, at - 1));
        expect(new Set(members.map(latinStem))).toEqual(new Set([latin1(wordIn(table, stem))]));
        return members;
      });
      expect(groups.flat().toSorted()).toEqual(distinct.toSorted());
      expect(groups).toHaveLength(new Set(distinct.map(latinStem)).size);
    }),
  );
});

const latin1 = (word: string) => Buffer.from(word).toString("latin1");
const latinStem = (word: string) => stemOf(latin1(word));
