const SMALLEST = "BELAY_BENCH_SMALLEST";

// The processes that a part starts are as small.
if (process.argv.includes("--smallest")) process.env[SMALLEST] = "1";

const isSmallest = process.env[SMALLEST] === "1";

/** Returns `whole`, or `least` with `--smallest`, whose figures mean nothing: it shows that all parts run. */
export function size<T>(whole: T, least: T): T {
  return isSmallest ? least : whole;
}
