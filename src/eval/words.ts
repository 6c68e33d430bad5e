// Words of generated texts. All of them are written for Belay.

/** One of a list, by a random number. */
export function oneOf<T>(items: readonly T[], random: () => number): T {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error("there is nothing to choose from");
  return item;
}

/** So many different whole numbers below `below`, in random order. */
export function numbersBelow(below: number, amount: number, random: () => number): number[] {
  const found = new Set<number>();
  while (found.size < Math.min(amount, below)) found.add(Math.floor(random() * below));
  return [...found];
}

const ADJECTIVES = "amber bold calm dusty early faded golden hollow icy jolly keen late mossy narrow oaken pale".split(
  " ",
);
const NOUNS =
  "anchor barrel compass dolphin ember ferry gull harbour island jetty kettle lantern mast net oar pilot".split(" ");
const PLACES = [
  "at the pier",
  "in the cold store",
  "near the lock",
  "behind the silo",
  "by the weigh house",
  "off the mole",
];
const VERBS = [
  "waited for papers",
  "was counted again",
  "passed in silence",
  "was moved at noon",
  "needed new paint",
  "lay in the sun",
];

/** A sentence without digits that means nothing. */
export const filler = (random: () => number): string =>
  `The ${oneOf(ADJECTIVES, random)} ${oneOf(NOUNS, random)} ${oneOf(VERBS, random)} ${oneOf(PLACES, random)}, and the ${oneOf(ADJECTIVES, random)} ${oneOf(NOUNS, random)} ${oneOf(VERBS, random)}.`;

/** Lines of about so many characters in all. */
export function fillerLines(random: () => number, units: number): string[] {
  const lines: string[] = [];
  for (let size = 0; size < units; ) {
    const line = filler(random);
    lines.push(line);
    size += line.length + 1;
  }
  return lines;
}

const SYLLABLES = "ba ce di fo gu ha ke li mo nu pa re si to vu wa ze lin mar dor".split(" ");

/** Names that are made up, none of them twice. */
export function openNames(random: () => number): (syllables: number) => string {
  const taken = new Set<string>();
  return (syllables) => {
    for (;;) {
      const name = Array.from({ length: syllables }, () => oneOf(SYLLABLES, random)).join("");
      if (taken.has(name)) continue;
      taken.add(name);
      return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
    }
  };
}
