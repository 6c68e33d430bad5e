/** ms since the epoch, by the server's clock. */
export const NOW = "clock_ms()";

/** Rows of a page, at the most. */
export const PAGE = 1000;

export const atMost = (limit: number) => Math.min(limit, PAGE);
