import type { Made, Suite } from "./items.ts";
import { fillerLines, numbersBelow, oneOf, openNames } from "./words.ts";

/** RULER's single needle: one fact in a text that has nothing to do with it. */
export const needle: Suite = {
  about: "one number, told once in a long text",
  score: "contains",
  make: (random, units) => hidden(random, units, { asked: 1, decoys: 0, values: 1 }),
};

/** RULER's needles of many keys, many values and many questions in one. */
export const needles: Suite = {
  about: "four numbers of each of two vaults, among those of others",
  score: "recall",
  make: (random, units) => hidden(random, units, { asked: 2, decoys: 14, values: 4 }),
};

interface Shape {
  readonly asked: number;
  readonly decoys: number;
  readonly values: number;
}

function hidden(random: () => number, units: number, { asked, decoys, values }: Shape): Made {
  const name = openNames(random);
  const lines = fillerLines(random, units);
  const numbers = numbersBelow(9_000_000, (asked + decoys) * values, random).map((number) => String(1e6 + number));
  const places = numbersBelow(lines.length, numbers.length, random);
  const vaults = Array.from({ length: asked + decoys }, () => name(3));
  for (const [at, number] of numbers.entries()) {
    lines[places[at] ?? 0] = `A number that opens the vault of ${vaults[at % vaults.length]} is ${number}.`;
  }
  const expected = numbers.filter((_, at) => at % vaults.length < asked);
  const whose = vaults.slice(0, asked).join(" and of ");
  const question =
    expected.length === 1
      ? `Which number opens the vault of ${whose}? Answer with the number alone.`
      : `Which numbers open the vaults of ${whose}? There are ${values} of each. Answer with the numbers alone, separated by commas.`;
  return {
    question,
    expected: expected.length === 1 ? (expected[0] ?? "") : expected,
    files: new Map([["log.txt", `${lines.join("\n")}\n`]]),
  };
}

/** Chains with the characters of their facts, documents at the most, and characters of one at the least. */
const [CHAINS, CHAIN_UNITS, DOCUMENTS, LEAST_UNITS] = [20, 170, 2_000, 4_000];

/** Facts that lead to each other, each in another document. */
export const chain: Suite = {
  about: "four facts that lead to each other, in four documents",
  score: "contains",
  make(random, units) {
    const name = openNames(random);
    const amount = Math.max(4, Math.min(DOCUMENTS, Math.floor(units / LEAST_UNITS)));
    const each = (units - CHAINS * CHAIN_UNITS) / amount;
    const documents = Array.from({ length: amount }, () => fillerLines(random, each));
    const chains = Array.from({ length: CHAINS }, () => {
      const [ship, captain, house, town, mayor] = [name(3), name(2), name(3), name(3), name(2)];
      const facts = [
        `The captain of the ship ${ship} is ${captain}.`,
        `${captain} lives in the house that is called ${house}.`,
        `The house ${house} lies in the town of ${town}.`,
        `The mayor of ${town} is ${mayor}.`,
      ];
      for (const [at, place] of numbersBelow(documents.length, facts.length, random).entries()) {
        const lines = documents[place] ?? [];
        lines.splice(Math.floor(random() * lines.length), 0, facts[at] ?? "");
      }
      return { ship, mayor };
    });
    const { ship, mayor } = oneOf(chains, random);
    const files = documents.map(
      (lines, at) => [`notes/${String(at + 1).padStart(4, "0")}.txt`, `${lines.join("\n")}\n`] as const,
    );
    const question = `Who is the mayor of the town in which the captain of the ship ${ship} lives? Answer with the name alone.`;
    return { question, expected: mayor, files: new Map(files) };
  },
};
