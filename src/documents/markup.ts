import { type Handler, Parser } from "htmlparser2";
import { damaged } from "./growing.ts";

export type Attributes = Readonly<Record<string, string>>;

const MOST_DEPTH = 5000;
const SLICE_UNITS = 65_536;

type Events = Partial<Pick<Handler, "onopentag" | "onclosetag" | "ontext">>;

/** Walks through markup. @throws Unreadable if elements are nested more than 5,000 deep */
export function parse(source: string, xmlMode: boolean, events: Events): void {
  let depth = 0;
  const parser = new Parser(
    {
      ...events,
      onopentagname() {
        depth += 1;
        if (depth > MOST_DEPTH) throw damaged("its elements are nested more than 5,000 deep");
      },
      onclosetag(name, isImplied) {
        depth -= 1;
        events.onclosetag?.(name, isImplied);
      },
    },
    { xmlMode, decodeEntities: true, recognizeSelfClosing: true, recognizeCDATA: true },
  );
  for (let at = 0; at < source.length; at += SLICE_UNITS) parser.write(source.slice(at, at + SLICE_UNITS));
  parser.end();
}
