import { createHash } from "node:crypto";
import { seededRandom } from "../platform/seeded-random.ts";
import type { Expected, ScoreName } from "./scores.ts";

/**
 * A question about a context of its own, whose answer is known. Its suite and its size are its row
 * in the report.
 */
export interface Item {
  readonly id: string;
  readonly suite: string;
  readonly size: string;
  readonly question: string;
  readonly expected: Expected;
  readonly score: ScoreName;
}

type Random = () => number;

interface Suite {
  readonly about: string;
  readonly score: ScoreName;
  /**
   * Makes a question over a context of about so many characters (`units`).
   *
   * @param facts decides what is asked about, the same at every size
   * @param random decides the rest of the context
   */
  make(facts: Random, random: Random, units: number): Made;
}

/** A question, its answer by construction, and the texts of its context by path. */
interface Made extends Pick<Item, "question" | "expected"> {
  readonly files: ReadonlyMap<string, string>;
}

/**
 * Suites by the name that is typed: two of RULER's shapes, two of OOLONG's, and two of documents
 * that belong together.
 */
export const SUITES = {
  needle: {
    about: "one number that appears once in a long text",
    score: "contains",
    make: (facts, random, units) => hidden({ asked: 1, others: 0, each: 1 }, facts, random, units),
  },
  needles: {
    about: "four numbers of each of two vaults, among those of others",
    score: "recall",
    make: (facts, random, units) => hidden({ asked: 2, others: 14, each: 4 }, facts, random, units),
  },
  count: {
    about: "messages of one town that are complaints, orders and so on, counted",
    score: "count",
    make: counted,
  },
  pairs: { about: "pairs of customers of one town who both cancel something", score: "f1", make: paired },
  chain: { about: "four facts that lead to each other, in four documents", score: "contains", make: chained },
  code: {
    about: "handlers of a code base that write, through other functions, without a guard",
    score: "f1",
    make: codeBase,
  },
} satisfies Readonly<Record<string, Suite>>;
export type SuiteName = keyof typeof SUITES;

/**
 * Makes an item with its context: equal arguments give the same bytes on every machine.
 *
 * @param number from 1
 */
export function itemOf(
  suite: SuiteName,
  size: string,
  number: number,
  seed: number,
): { readonly item: Item } & Pick<Made, "files"> {
  const { score, make }: Suite = SUITES[suite];
  const facts = randomOf(`${suite} ${number} ${seed}`);
  const rest = randomOf(`${suite} ${size} ${number} ${seed}`);
  const { files, ...made } = make(facts, rest, (tokensIn(size) ?? 0) * UNITS_A_TOKEN);
  const id = `${suite}-${size}-${number}${seed === 1 ? "" : `-s${seed}`}`;
  return { item: { id, suite, size, ...made, score }, files };
}

const randomOf = (seed: string) => seededRandom(createHash("sha256").update(seed).digest().readUInt32BE());

/** Characters of a token, as in every estimate of Belay; tokens of a context. */
const UNITS_A_TOKEN = 4;
const LEAST_TOKENS = 8_000;
const MOST_TOKENS = 10_000_000;

/** The tokens of `8k`, `128k`, `1.5M`; undefined for what is no size from 8k to 10M. */
export function tokensIn(size: string): number | undefined {
  const [, number, unit] = /^(\d{1,5}(?:\.\d{1,2})?)([kM])$/.exec(size) ?? [];
  const tokens = Number(number) * (unit === "M" ? 1e6 : 1e3);
  return tokens >= LEAST_TOKENS && tokens <= MOST_TOKENS ? tokens : undefined;
}

// RULER's needles: facts in a text that has nothing to do with them.

/** The number of vaults that are asked for, of others, and of numbers of each. */
interface Vaults {
  readonly asked: number;
  readonly others: number;
  readonly each: number;
}

function hidden({ asked, others, each }: Vaults, facts: Random, random: Random, units: number): Made {
  const name = openNames(facts);
  const lines = fillerLines(random, units);
  const amount = (asked + others) * each;
  const numbers = numbersBelow(9_000_000, amount, facts).map((number) => String(1e6 + number));
  const places = numbersBelow(lines.length, numbers.length, random);
  const vaults = Array.from({ length: asked + others }, () => name(3));
  for (const [at, number] of numbers.entries()) {
    const vault = vaults[at % vaults.length];
    lines[places[at] ?? 0] = `A number that opens the vault of ${vault} is ${number}.`;
  }
  const expected = numbers.filter((_, at) => at % vaults.length < asked);
  const whose = vaults.slice(0, asked).join(" and of ");
  const files = new Map([["log.txt", joined(lines)]]);
  if (expected.length === 1) {
    const question = `Which number opens the vault of ${whose}? Answer with the number alone.`;
    return { question, expected: expected.join(), files };
  }
  const question =
    `Which numbers open the vaults of ${whose}? There are ${each} of each. ` +
    "Answer with the numbers alone, separated by commas.";
  return { question, expected, files };
}

// OOLONG's records: each has a label that its words tell, and do not name.

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
const ABOUT =
  "Each line is a message to a shop: customer | town | text. " +
  `By its text each message is one of: ${LABELS.join(", ")}.`;
/** Characters of a record. */
const RECORD_UNITS = 52;

/** A message to a shop. */
interface Message {
  readonly customer: string;
  readonly town: string;
  readonly label: Label;
  readonly text: string;
}

/** @param of the town and the label of the message with this number */
function messages(amount: number, random: Random, of: (at: number) => Pick<Message, "town" | "label">): Message[] {
  return Array.from({ length: amount }, (_, at) => {
    const { town, label } = of(at);
    const text = oneOf(SAYINGS[label], random).replace("*", oneOf(THINGS, random));
    return { customer: `u${String(at + 1).padStart(6, "0")}`, town, label, text };
  });
}

function fileOf(all: readonly Message[]): Made["files"] {
  const lines = all.map(({ customer, town, text }) => `${customer} | ${town} | ${text}`);
  return new Map([["messages.txt", joined(lines)]]);
}

/** The most messages that a question to count is about, and their share of a small context. */
const MOST_ASKED = 200;
const ASKED_SHARE = 1 / 4;

function counted(facts: Random, random: Random, units: number): Made {
  const name = openNames(facts);
  const amount = Math.floor(units / RECORD_UNITS);
  const [town = "", ...others] = Array.from({ length: 12 }, () => name(3));
  const wanted = oneOf(LABELS, facts);
  const most = Math.min(MOST_ASKED, Math.floor(amount * ASKED_SHARE));
  const places = new Set(numbersBelow(amount, most, random));
  const all = messages(amount, random, (at) =>
    places.has(at)
      ? { town, label: oneOf(LABELS, facts) }
      : { town: oneOf(others, random), label: oneOf(LABELS, random) },
  );
  const expected = all.filter((message) => message.town === town && message.label === wanted).length;
  const question = `${ABOUT} How many messages from ${town} are of the kind ${wanted}? Answer with the number alone.`;
  return { question, expected, files: fileOf(all) };
}

/**
 * Cancellations, and the towns that they are from: as many at every size, so that an answer stays
 * short.
 */
const RARE = 24;
const TOWNS = 6;

function paired(facts: Random, random: Random, units: number): Made {
  const name = openNames(facts);
  const towns = Array.from({ length: 20 }, () => name(3));
  const amount = Math.floor(units / RECORD_UNITS);
  const rare = new Set(numbersBelow(amount, RARE, random));
  const all = messages(amount, random, (at) => {
    if (rare.has(at)) return { town: oneOf(towns.slice(0, TOWNS), random), label: "cancellation" };
    return { town: oneOf(towns, random), label: oneOf(LABELS.slice(0, -1), random) };
  });
  const cancelled = all.filter(({ label }) => label === "cancellation");
  const byTown = [...Map.groupBy(cancelled, ({ town }) => town).values()];
  const question =
    `${ABOUT} Which pairs of customers are from one town and both wrote a cancellation? ` +
    "Answer with the pairs alone, as u000001-u000002, separated by commas.";
  return { question, expected: byTown.flatMap(pairsOf), files: fileOf(all) };
}

function pairsOf(all: readonly Message[]): string[] {
  return all.flatMap(({ customer }, at) => all.slice(at + 1).map((other) => `${customer}-${other.customer}`));
}

// Facts that lead to each other, in documents of their own.

/**
 * Chains with the characters of their facts, documents at the most, and characters of one at the
 * least.
 */
const CHAINS = 20;
const CHAIN_UNITS = 170;
const DOCUMENTS = 2_000;
const DOCUMENT_UNITS = 4_000;

function chained(facts: Random, random: Random, units: number): Made {
  const name = openNames(facts);
  const amount = Math.max(4, Math.min(DOCUMENTS, Math.floor(units / DOCUMENT_UNITS)));
  const unitsOfOne = (units - CHAINS * CHAIN_UNITS) / amount;
  const documents = Array.from({ length: amount }, () => fillerLines(random, unitsOfOne));
  const chains = Array.from({ length: CHAINS }, () => {
    const chain = chainOf(name);
    for (const [at, place] of numbersBelow(amount, chain.facts.length, random).entries()) {
      const lines = documents[place] ?? [];
      lines.splice(Math.floor(random() * lines.length), 0, chain.facts[at] ?? "");
    }
    return chain;
  });
  const { ship, mayor } = oneOf(chains, facts);
  const files = documents.map((lines, at) => {
    return [`notes/${String(at + 1).padStart(4, "0")}.txt`, joined(lines)] as const;
  });
  const question = `Who is the mayor of the town in which the captain of the ship ${ship} lives? Answer with the name alone.`;
  return { question, expected: mayor, files: new Map(files) };
}

/** The facts that lead from a ship to the mayor of its captain's town. */
interface Chain {
  readonly ship: string;
  readonly mayor: string;
  readonly facts: readonly string[];
}

function chainOf(name: (syllables: number) => string): Chain {
  const ship = name(3);
  const captain = name(2);
  const house = name(3);
  const town = name(3);
  const mayor = name(2);
  const facts = [
    `The captain of the ship ${ship} is ${captain}.`,
    `${captain} lives in the house that is called ${house}.`,
    `The house ${house} lies in the town of ${town}.`,
    `The mayor of ${town} is ${mayor}.`,
  ];
  return { ship, mayor, facts };
}

// A code base, whose handlers call functions that write or leave it to others.

const CODE_VERBS = "open close book split review settle merge price list move send keep".split(" ");
const CODE_NOUNS = "Invoice Refund Deposit Discount Transfer Credit Receipt Fee Contract Voucher".split(" ");
/**
 * Characters of a function, functions of a file at the least, files of a folder at the most,
 * handlers without a guard.
 */
const FUNCTION_UNITS = 130;
const PER_FILE = 4;
const FILES = 4_000;
const UNGUARDED = 8;
const GUARD = `export function requireRole(request: Request, role: string) {
  if (request.role !== role) throw new Error("not allowed");
}
`;

/**
 * Handlers over functions, a third of all. Those are looked for that write without asking who
 * calls.
 */
function codeBase(_: Random, random: Random, units: number): Made {
  const amount = Math.max(60, Math.floor(units / FUNCTION_UNITS));
  const handlers = Math.floor(amount / 3);
  const billing: BillingFunction[] = [];
  for (let at = 0; at < amount - handlers; at++) billing.push(billingFunction(at, billing, random));
  const calls = Array.from({ length: handlers }, () => oneOf(billing, random));
  const writing = calls.flatMap(({ writes }, at) => (writes ? [at] : []));
  const places = numbersBelow(writing.length, UNGUARDED, random);
  const open = new Set(places.map((at) => writing[at] ?? 0));
  const sources = calls.map((called, at) => {
    const isGuarded = called.writes ? !open.has(at) : random() < 0.5;
    return handlerSource(at, called.name, isGuarded);
  });
  const files = new Map([
    ...filesOf("src/api/routes", sources),
    ...filesOf(
      "src/billing/part",
      billing.map(({ source }) => source),
    ),
    ["src/guard.ts", GUARD] as const,
  ]);
  const question =
    "Handlers in src/api call functions in src/billing. A function writes if it calls db.write, or calls " +
    "a function that writes. Which handlers write without calling requireRole? " +
    "Answer with their names alone, separated by commas.";
  return { question, expected: [...open].sort((a, b) => a - b).map(handlerName), files };
}

const handlerName = (at: number) => `handle${at + 1}`;

function handlerSource(at: number, called: string, isGuarded: boolean): string {
  const guard = isGuarded ? '  requireRole(request, "clerk");\n' : "";
  return `export async function ${handlerName(at)}(request: Request) {
${guard}  return await ${called}(request.body);
}
`;
}

interface BillingFunction {
  readonly name: string;
  /** True if it writes, by itself or through another one. */
  readonly writes: boolean;
  readonly source: string;
}

/** Reads, writes, or leaves it to a function that is there already. */
function billingFunction(at: number, earlier: readonly BillingFunction[], random: Random): BillingFunction {
  const name = `${oneOf(CODE_VERBS, random)}${oneOf(CODE_NOUNS, random)}${at + 1}`;
  const kind = random();
  if (kind >= 0.6 && earlier.length > 0) {
    const called = oneOf(earlier, random);
    return { name, writes: called.writes, source: billingSource(name, `${called.name}(input)`) };
  }
  const writes = kind < 0.25;
  const does = writes ? `db.write("${name}", input)` : `db.read("${name}", input.id)`;
  return { name, writes, source: billingSource(name, does) };
}

function billingSource(name: string, does: string): string {
  return `export async function ${name}(input: Input) {
  audit.note("${name}");
  return await ${does};
}
`;
}

/** Sources in files of some functions each. */
function filesOf(path: string, sources: readonly string[]): (readonly [string, string])[] {
  const each = Math.max(PER_FILE, Math.ceil(sources.length / FILES));
  return Array.from({ length: Math.ceil(sources.length / each) }, (_, at) => {
    return [`${path}-${at + 1}.ts`, sources.slice(at * each, (at + 1) * each).join("\n")];
  });
}

// Words of these texts. All are written for Belay.

const joined = (lines: readonly string[]) => `${lines.join("\n")}\n`;

function oneOf<T>(items: readonly T[], random: Random): T {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error("there is nothing to choose from");
  return item;
}

/** Gives different whole numbers below `below`, in random order. */
function numbersBelow(below: number, amount: number, random: Random): number[] {
  const numbers = new Set<number>();
  while (numbers.size < Math.min(amount, below)) numbers.add(Math.floor(random() * below));
  return [...numbers];
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

/** Sentences without a digit that mean nothing, of about so many characters in all. */
function fillerLines(random: Random, units: number): string[] {
  const lines: string[] = [];
  const part = () => [ADJECTIVES, NOUNS, VERBS].map((words) => oneOf(words, random)).join(" ");
  for (let size = 0; size < units; ) {
    const line = `The ${part()} ${oneOf(PLACES, random)}, and the ${part()}.`;
    lines.push(line);
    size += line.length + 1;
  }
  return lines;
}

const SYLLABLES = "ba ce di fo gu ha ke li mo nu pa re si to vu wa ze lin mar dor".split(" ");

/** Names that are made up, none of them twice. */
function openNames(random: Random): (syllables: number) => string {
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
