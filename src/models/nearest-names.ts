/** Below this share of common letter pairs a name is not worth proposing. */
const ALIKE = 0.4;

/**
 * The names that look most like the typed one, best first. Names of models differ by whole parts (provider, version, date)
 * rather than by a letter or two. So they are compared by the letter pairs that they have in common. `src/nearest.ts`, for
 * options and keys, counts letters: it misses models under another provider, and this misses short words.
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
