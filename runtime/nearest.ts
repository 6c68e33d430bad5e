/**
 * The name that was probably meant: one that differs by a letter or two, or that begins as typed;
 * undefined if none.
 */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  const wanted = typed.toLowerCase();
  const letters = wanted.replace(/^[-.]+/, "").length;
  const allowed = letters <= 2 ? 0 : letters <= 5 ? 1 : 2;
  const [best] = names
    .map((name) => ({ name, distance: distance(wanted, name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  if (best && best.distance <= allowed) return best.name;
  return letters >= 3 ? names.find((name) => name.toLowerCase().startsWith(wanted)) : undefined;
}

/**
 * `; did you mean NAME?`, behind words about a name that is not there; nothing if no other one was
 * meant.
 */
export function meantBy(typed: string, names: readonly string[]): string {
  const meant = nearest(typed, names);
  return meant ? `; did you mean ${meant}?` : "";
}

/** Insertions, deletions, substitutions and swaps of neighbours that turn one into the other. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(
        (previous[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (previous[j - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    before = previous;
    previous = row;
  }
  return previous[b.length] ?? 0;
}
