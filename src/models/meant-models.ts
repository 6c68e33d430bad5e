import { PROVIDERS } from "./keys/variables.ts";
import { nearestNames } from "./nearest-names.ts";

/** A model that can be named. */
interface Named {
  /** `provider/id`. */
  readonly id: string;
  /** True if requests to its provider would have a key. */
  readonly has_key: boolean;
}

/**
 * Models that may be meant by a name without its provider, the likeliest first: the same id before one that is spelt like it,
 * and a provider with a key before others.
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

/** Letters and digits of a model's id without its provider and maker. Providers write `4.5` and `4-5` of the same version. */
function shortName(id: string): string {
  const last = id.slice(id.lastIndexOf("/") + 1);
  return last.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

/** Providers with a key come first, and of the others the common ones. */
function rankOf({ id, has_key }: Named): number {
  const common = Object.keys(PROVIDERS).indexOf(id.slice(0, id.indexOf("/")));
  return (has_key ? 0 : 100) + (common < 0 ? 99 : common);
}
