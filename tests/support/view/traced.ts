import { gunzipSync } from "node:zlib";
import type { SessionDescription } from "../../../src/index.ts";
import { COLUMNS, NONE, PAGE_CALLS, type Texts } from "../../../src/view/format.ts";
import { type Model, modelOf, openColumns } from "../../../src/view/page/model.ts";
import { type Beside, traceOf } from "../../../src/view/trace.ts";
import type { Trace, Tracing } from "../../../src/view/trace-file.ts";

/** A trace with everything in it. */
export function traced(session: SessionDescription, more: Partial<Tracing & Beside> = {}): Trace {
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
  const columns = openColumns(head.calls);
  for (const [index, page] of pages.entries()) columns.read(gunzipSync(page), index * PAGE_CALLS);
  return modelOf(head, columns);
}

/** All texts, by their numbers. */
export const textsIn = ({ chunks }: Trace): Texts[] =>
  chunks.flatMap((chunk): Texts[] => JSON.parse(gunzipSync(chunk).toString()));

/** The numbers of a call that are not 0, as a line; `-` is none. */
export function lineOf({ columns }: Model, call: number): string {
  const told = COLUMNS.map((name) => [name, columns.of(name, call)] as const).filter(([, number]) => number !== 0);
  return told.map(([name, number]) => `${name} ${number === NONE ? "-" : number}`).join(" ");
}
