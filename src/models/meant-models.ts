import { PROVIDERS } from "./keys/variables.ts";

/** A model that can be named. */
interface Named {
  /** `provider/id`. */
  readonly id: string;
  /** True if requests to its provider would have a key. */
  readonly has_key: boolean;
}

/**
 * Models that may be meant by a name without its provider, the likeliest first: the same id before
 * one that is spelt like it, and a provider with a key before others.
 */
export function meantAmong(typed: string, models: readonly Named[]): readonly string[] {
  const listed = models.map(({ id, has_key }) => ({ id, has_key, short: shortName(id) }));
  const inOrder = listed.toSorted((one, other) => rankOf(one) - rankOf(other));
  const same = inOrder.filter(({ short }) => short === shortName(typed));
  const alike = nearestNames(shortName(typed), new Set(inOrder.map(({ short }) => short)));
  const near = alike.flatMap((name) => inOrder.find(({ short }) => short === name) ?? []);
  near.sort((one, other) => rankOf(one) - rankOf(other));
  return (same.length > 0 ? same : near).slice(0, MEANT).map(({ id }) => id);
}

const MEANT = 3;

/**
 * Letters and digits of a model's id without its provider and maker. Providers write `4.5` and
 * `4-5` of the same version.
 */
function shortName(id: string): string {
  const last = id.slice(id.lastIndexOf("/") + 1);
  return last.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

/** Providers with a key come first, and of the others the common ones. */
function rankOf({ id, has_key }: Named): number {
  const common = Object.keys(PROVIDERS).indexOf(id.slice(0, id.indexOf("/")));
  return (has_key ? 0 : 100) + (common < 0 ? 99 : common);
}

/** Below this share of common letter pairs a name is not worth proposing. */
const ALIKE = 0.4;

/**
 * The names that look most like the typed one, best first. Names of models differ by whole parts
 * (provider, version, date) rather than by a letter or two. So they are compared by the letter
 * pairs that they have in common. `src/nearest.ts`, for options and keys, counts letters: it misses
 * models under another provider, and this misses short words.
 */
export function nearestNames(typed: string, names: Iterable<string>, most = 3): string[] {
  const wanted = pairsOf(typed);
  const ranked = Array.from(names, (name) => ({ name, alike: alike(wanted, pairsOf(name)) }));
  return ranked
    .filter((entry) => entry.alike >= ALIKE)
    .sort((a, b) => b.alike - a.alike || (a.name < b.name ? -1 : 1))
    .slice(0, most)
    .map((entry) => entry.name);
}

function pairsOf(name: string): Set<string> {
  const letters = name.toLowerCase();
  return new Set(Array.from({ length: Math.max(0, letters.length - 1) }, (_, at) => letters.slice(at, at + 2)));
}

/** 0 for nothing in common, 1 for the same pairs (Dice's coefficient). */
function alike(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let common = 0;
  for (const pair of a) if (b.has(pair)) common++;
  return common === 0 ? 0 : (2 * common) / (a.size + b.size);
}
