import { gunzipSync } from "node:zlib";
import type { SessionDescription } from "../../../src/index.ts";
import { COLUMNS, NONE, type Texts } from "../../../src/view/format.ts";
import { emptyColumns, type Model, modelOf, readPage } from "../../../src/view/page/model.ts";
import { type Trace, type Tracing, traceOf } from "../../../src/view/trace.ts";

/** A trace with everything in it. */
export function traced(session: SessionDescription, more: Partial<Tracing> = {}): Trace {
  const usual = {
    texts: true,
    maxBytes: 32 * 2 ** 20,
    belay: "0.0.0",
    now: 3_600_000,
    around: () => null,
    covered: null,
  };
  return traceOf(session, { ...usual, ...more });
}

/** A trace as the page reads it. */
export function modelled({ head, pages }: Trace): Model {
  const columns = emptyColumns(head.calls);
  let first = 0;
  for (const [index, calls] of head.pages.entries()) {
    readPage(columns, gunzipSync(pages[index] ?? new Uint8Array()), first, calls);
    first += calls;
  }
  return modelOf(head, columns);
}

/** All texts, by their numbers. */
export const textsIn = ({ chunks }: Trace): Texts[] =>
  chunks.flatMap((chunk): Texts[] => JSON.parse(gunzipSync(chunk).toString()));

/** The numbers of a call that are not 0, as a line; `-` is none. */
export function lineOf({ columns }: Model, call: number): string {
  const told = COLUMNS.map((name) => [name, columns[name][call] ?? 0] as const).filter(([, number]) => number !== 0);
  return told.map(([name, number]) => `${name} ${number === NONE ? "-" : number}`).join(" ");
}
