/** The first index at which a condition holds, if it holds from there on; `to` if it holds nowhere. */
export function binarySearch(to: number, holds: (at: number) => boolean): number {
  let low = 0;
  let high = to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
