import { gzipSync } from "node:zlib";
import { fileOf, pageSource } from "../src/view/index.ts";
import { syntheticSession } from "../tests/support/view/synthetic.ts";
import { traced } from "../tests/support/view/traced.ts";
import { median, takeTurns, timed } from "./measure.ts";
import type { Report } from "./report.ts";
import { size } from "./size.ts";

/** Calls of each cell. */
const CELLS = size([1000, 1000, 1000, 1000, 1000], [2, 2]);
/** The page may take so many times what it takes to compress the session as JSON. */
const MOST = 2.5;

/** Measures how long the page of a session is written, against the same session as gzipped JSON. */
export async function benchView(): Promise<Report> {
  const session = syntheticSession(CELLS);
  const source = await pageSource();
  let bytes = 0;
  const page = () => {
    bytes = [...fileOf(traced(session), source)].reduce((sum, piece) => sum + piece.length, 0);
  };
  const json = () => void gzipSync(JSON.stringify(session));
  const measured = await takeTurns(
    [
      { name: "the page", once: () => timed(page) },
      { name: "gzip of show --json", once: () => timed(json) },
    ],
    { rounds: 9, warmups: 2 },
  );
  const [ours = Number.NaN, plain = Number.NaN] = measured.map(({ samples }) => median(samples));
  const ratio = ours / plain;
  const calls = CELLS.reduce((sum, calls) => sum + calls, 0).toLocaleString("en-US");
  return {
    title: `view: the page of a session with ${calls} calls, from its description`,
    cases: [{ name: "write", measured, remarks: { "the page": `${(bytes / 2 ** 20).toFixed(2)} MB` } }],
    aims: [{ text: `the page in at most ${MOST}x the time`, value: `${ratio.toFixed(2)}x`, met: ratio <= MOST }],
  };
}
