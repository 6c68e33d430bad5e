/** The first number of those in order from which on a condition holds; `to`: for none it does. */
export function firstWhere(to: number, holds: (at: number) => boolean): number {
  let low = 0;
  let high = to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
