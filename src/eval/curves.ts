import { compact, dollars } from "../platform/figures.ts";
import type { EvalRow, Method } from "./rows.ts";

/** Scores and prices of the methods over a suite whose contexts have several sizes. */
export interface Curve extends Pick<EvalRow, "suite"> {
  /** `usd` if the price of each answer is known, else tokens in and out. */
  readonly price: "usd" | "tokens";
  readonly methods: readonly { readonly method: Method; readonly points: readonly CurvePoint[] }[];
  /** One for each method but the ask. */
  readonly crossings: readonly Crossing[];
}

/** Means of a method's answers at one size. */
export interface CurvePoint extends Pick<EvalRow, "size">, Means {
  readonly tokens: number;
}

interface Means {
  readonly score: number;
  readonly price: number;
}

/**
 * The place from which on the ask is ahead of another method: it scores more than 0 and at least as
 * much, costs no more, and is better in one of the two, at this and at each larger size.
 */
interface Crossing extends Pick<EvalRow, "suite"> {
  readonly other: Method;
  /** Tokens of the context; null: there is none. */
  readonly tokens: number | null;
  /** The size of these figures: that of the crossing, or else the largest. */
  readonly size: string;
  /** It is the smallest size that was measured. */
  readonly smallest: boolean;
  /** The other one does not tell what it takes: its price is the most that it may take. */
  readonly held: boolean;
  readonly price: Curve["price"];
  /** Means over the questions that both have answered. */
  readonly ask: Means;
  readonly than: Means;
}

/** The curves of the suites that were asked at two sizes or more. */
export function curvesOf(rows: readonly EvalRow[]): Curve[] {
  const sized = rows.flatMap((row) => {
    const tokens = tokensOf(row.size);
    return tokens === null || row.score === null ? [] : [{ ...row, score: row.score, tokens }];
  });
  return [...Map.groupBy(sized, ({ suite }) => suite)].flatMap(([suite, own]) => {
    if (new Set(own.map(({ tokens }) => tokens)).size < 2) return [];
    const price = own.every((row) => row.cost_usd > 0 || row.no_answer !== null) ? "usd" : "tokens";
    const byMethod = Map.groupBy(own, ({ method }) => method);
    const methods = [...byMethod].map(([method, all]) => ({ method, points: pointsOf(all, price) }));
    const asks = new Map(byMethod.get("ask")?.map((row) => [row.item, row]));
    const crossings = [...byMethod].flatMap(([other, all]) =>
      other === "ask" ? [] : (crossingOf(asks, all, { suite, other, price }) ?? []),
    );
    return { suite, price, methods, crossings };
  });
}

type SizedRow = EvalRow & { readonly score: number; readonly tokens: number };

const bySize = (rows: readonly SizedRow[]) => [...Map.groupBy(rows, (row) => row.tokens)].sort(([a], [b]) => a - b);

const mean = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

function meansOf(rows: readonly SizedRow[], price: Curve["price"]): Means {
  const prices = rows.map((row) => (price === "usd" ? row.cost_usd : row.tokens_in + row.tokens_out));
  return { score: mean(rows.map(({ score }) => score)), price: mean(prices) };
}

function pointsOf(rows: readonly SizedRow[], price: Curve["price"]): CurvePoint[] {
  return bySize(rows).map(([tokens, all]) => ({ size: all[0]?.size ?? "", tokens, ...meansOf(all, price) }));
}

/** null: they have answered no questions of two sizes both. */
function crossingOf(
  asks: ReadonlyMap<string, SizedRow>,
  others: readonly SizedRow[],
  facts: Pick<Crossing, "suite" | "other" | "price">,
): Crossing | null {
  const both = bySize(others.filter(({ item }) => asks.has(item))).map(([tokens, all]) => {
    const ask = meansOf(
      all.flatMap(({ item }) => asks.get(item) ?? []),
      facts.price,
    );
    return { tokens, size: all[0]?.size ?? "", ask, than: meansOf(all, facts.price) };
  });
  const last = both.at(-1);
  if (!last || both.length < 2) return null;
  const held = others.some(({ untold }) => untold.includes(facts.price === "usd" ? "dollars" : "tokens"));
  const behind = both.findLastIndex(({ ask, than }) => !isAhead(ask, than));
  const first = both[behind + 1];
  if (!first) return { ...facts, ...last, held, tokens: null, smallest: false };
  return { ...facts, ...first, held, smallest: behind === -1 };
}

function isAhead(ask: Means, than: Means): boolean {
  const isBetter = ask.score > than.score || ask.price < than.price;
  return ask.score > 0 && ask.score >= than.score && ask.price <= than.price && isBetter;
}

/** The tokens of `128k` or `1.5M`; null for another size. */
function tokensOf(size: string): number | null {
  const [, number, unit] = /^(\d{1,9}(?:\.\d{1,3})?)([kM])$/.exec(size) ?? [];
  return number === undefined ? null : Number(number) * (unit === "M" ? 1e6 : 1e3);
}

/** `$0.031`, or `12k tokens`. */
const priceText = (price: number, kind: Curve["price"]) =>
  kind === "usd" ? dollars(price) : `${compact(Math.round(price))} tokens`;

/** `the ask overtakes direct in needle at 128k tokens: 1.00 for $0.031 against 0.60 for $0.064` */
export function crossingLine({ suite, other, tokens, size, smallest, held, price, ask, than }: Crossing): string {
  const figures = ({ score, price: paid }: Means) => `${score.toFixed(2)} for ${priceText(paid, price)}`;
  const both = `${figures(ask)} against ${figures(than)}`;
  const figure = price === "usd" ? "price" : "tokens";
  const most = held ? `; ${other} does not tell its ${figure}, so this is the most that it may take` : "";
  if (tokens === null)
    return `the ask overtakes ${other} in ${suite} nowhere up to ${size} tokens: ${both} there${most}`;
  const least = smallest ? ", the smallest size that was measured" : "";
  return `the ask overtakes ${other} in ${suite} at ${size} tokens${least}: ${both}${most}`;
}

/** The sentence that says what a crossing is. */
export const CROSSING =
  "The ask overtakes a method at the smallest size from which on, at each size that was measured, it scores more " +
  "than 0 and at least as much, costs no more, and is better in one of the two. Figures are means over the questions that both have answered. " +
  "Prices are dollars, or tokens where dollars are not known.";
