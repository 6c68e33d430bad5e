import type { Suite } from "./items.ts";
import { numbersBelow, oneOf, openNames } from "./words.ts";

/** Messages by what they are. Each is made of a saying and a thing, and no word of it names the label. */
const SAYINGS = {
  complaint: [
    "the * arrived broken",
    "my * stopped working after a day",
    "I was charged twice for the *",
    "nobody answers about the * that never came",
    "the * is far smaller than the page promised",
  ],
  question: [
    "which sizes does the * come in",
    "can the * be wrapped as a gift",
    "how long does a * usually last",
    "what colour is the * inside",
    "when will the * be in the shop again",
  ],
  praise: [
    "the * is the best one I ever had",
    "everybody at home loves the *",
    "such fine work on the *",
    "the * came a day early, what a joy",
    "I show the * to all my guests",
  ],
  order: [
    "please send me three more of the *",
    "put one * on my account",
    "I take the * in blue",
    "add a second * to my parcel",
    "reserve a * for me until Friday",
  ],
  cancellation: [
    "please take the * off my list",
    "I no longer want the *",
    "stop the parcel with the *",
    "send no * this month",
    "I would rather not have the * after all",
  ],
} as const;
type Label = keyof typeof SAYINGS;
const LABELS: readonly Label[] = ["complaint", "question", "praise", "order", "cancellation"];
const THINGS = "lamp kettle rug chair mirror vase clock basket bench shelf tray stool".split(" ");

const message = (label: Label, random: () => number) =>
  oneOf(SAYINGS[label], random).replace("*", oneOf(THINGS, random));

const ABOUT = `Each line is a message to a shop: customer | PLACE | text. By its text each message is one of: ${LABELS.join(", ")}.`;

/** Lines of records, as many as fit. @param of the place and the label of the record with this number */
function records(
  amount: number,
  random: () => number,
  of: (at: number) => { readonly place: string; readonly label: Label },
): ReadonlyMap<string, string> {
  const lines = Array.from({ length: amount }, (_, at) => {
    const { place, label } = of(at);
    return `${customer(at)} | ${place} | ${message(label, random)}`;
  });
  return new Map([["messages.txt", `${lines.join("\n")}\n`]]);
}

const customer = (at: number) => `u${String(at + 1).padStart(6, "0")}`;
const RECORD_UNITS = 52;
/** Records that a question is about, whatever the size: more of them nobody can count without a mistake. */
const [MOST_ASKED, ASKED_SHARE] = [200, 4];

/** OOLONG's counting: how many records of a group have a label that only their words tell. */
export const count: Suite = {
  about: "messages of one town that are complaints, orders and so on, counted",
  score: "count",
  make(random, units) {
    const name = openNames(random);
    const amount = Math.floor(units / RECORD_UNITS);
    const [town, ...others] = Array.from({ length: 12 }, () => name(3));
    const [place = "", label] = [town, oneOf(LABELS, random)];
    const asked = new Set(numbersBelow(amount, Math.min(MOST_ASKED, Math.floor(amount / ASKED_SHARE)), random));
    let expected = 0;
    const files = records(amount, random, (at) => {
      const own = oneOf(LABELS, random);
      if (asked.has(at) && own === label) expected += 1;
      return { place: asked.has(at) ? place : oneOf(others, random), label: own };
    });
    const question = `${ABOUT.replace("PLACE", "town")} How many messages from ${place} are of the kind ${label}? Answer with the number alone.`;
    return { question, expected, files };
  },
};

const [RARE, TOWNS] = [24, 6];

/** OOLONG's pairs: which two records share a place and a label. */
export const pairs: Suite = {
  about: "pairs of customers of one town who both cancel something",
  score: "f1",
  make(random, units) {
    const name = openNames(random);
    const towns = Array.from({ length: 20 }, () => name(3));
    const amount = Math.floor(units / RECORD_UNITS);
    const usual = LABELS.filter((label) => label !== "cancellation");
    const rare = new Set(numbersBelow(amount, RARE, random));
    const found = new Map<string, string[]>();
    const files = records(amount, random, (at) => {
      if (!rare.has(at)) return { place: oneOf(towns, random), label: oneOf(usual, random) };
      const place = oneOf(towns.slice(0, TOWNS), random);
      found.set(place, [...(found.get(place) ?? []), customer(at)]);
      return { place, label: "cancellation" };
    });
    const expected = [...found.values()].flatMap((customers) =>
      customers.flatMap((one, at) => customers.slice(at + 1).map((other) => `${one}-${other}`)),
    );
    const question = `${ABOUT.replace("PLACE", "town")} Which pairs of customers are from one town and both wrote a cancellation? Answer with the pairs alone, as u000001-u000002, separated by commas.`;
    return { question, expected, files };
  },
};
