import { createHash } from "node:crypto";
import { seededRandom } from "../platform/seeded-random.ts";
import { code } from "./code.ts";
import { chain, needle, needles } from "./needles.ts";
import { count, pairs } from "./records.ts";
import type { Expected, ScoreName } from "./scores.ts";

/** A question about a context of its own, whose answer is known. */
export interface Item {
  readonly id: string;
  /** The row of the report that it counts in. */
  readonly suite: string;
  readonly size: string;
  readonly question: string;
  readonly expected: Expected;
  readonly score: ScoreName;
}

/** The question, the answer by construction, and the texts of the context by path. */
export interface Made {
  readonly question: string;
  readonly expected: Expected;
  readonly files: ReadonlyMap<string, string>;
}

/** Makes items of one shape: equal random numbers give equal bytes. `units`: about so many characters of context. */
export interface Suite {
  readonly about: string;
  readonly score: ScoreName;
  make(random: () => number, units: number): Made;
}

/** Every suite, by the name that is typed. */
export const SUITES = { needle, needles, count, pairs, chain, code } satisfies Record<string, Suite>;
export type SuiteName = keyof typeof SUITES;

/** Characters of a token, as in every estimate of Belay. */
export const UNITS_A_TOKEN = 4;

const [LEAST_TOKENS, MOST_TOKENS] = [8_000, 10_000_000];

/** The tokens of `8k`, `128k`, `1.5M`; undefined for what is no size from 8k to 10M. */
export function tokensIn(size: string): number | undefined {
  const [, number, unit] = /^(\d{1,5}(?:\.\d{1,2})?)([kM])$/.exec(size) ?? [];
  const tokens = Number(number) * (unit === "M" ? 1e6 : 1e3);
  return tokens >= LEAST_TOKENS && tokens <= MOST_TOKENS ? tokens : undefined;
}

/** Which item of a suite is made. */
export interface Asked {
  readonly suite: SuiteName;
  readonly size: string;
  /** From 1. */
  readonly number: number;
  readonly seed: number;
}

/** The item with its context. The same of each of these names gives the same bytes, on every machine. */
export function itemOf({ suite, size, number, seed }: Asked): { readonly item: Item; readonly files: Made["files"] } {
  const digest = createHash("sha256").update(`${suite} ${size} ${number} ${seed}`).digest();
  const { score, make } = SUITES[suite];
  const { question, expected, files } = make(
    seededRandom(digest.readUInt32BE()),
    (tokensIn(size) ?? 0) * UNITS_A_TOKEN,
  );
  const id = `${suite}-${size}-${number}${seed === 1 ? "" : `-s${seed}`}`;
  return { item: { id, suite, size, question, expected, score }, files };
}
