import { setImmediate } from "node:timers/promises";
import { type Context, compileFind, type FindPattern, matchesIn, openPlaces } from "../../context/index.ts";
import { inLine, jsonText } from "../../platform/visible.ts";
import type { FindFlags } from "../commands/find.ts";
import type { Arguments } from "../flags/arguments.ts";
import { ENCODING, INCLUDE_SECRETS, JSON_OUTPUT, LOSSY, QUIET, VERBOSE } from "../flags/declared.ts";
import type { Host } from "../host.ts";
import { asTyped, contextOf, lookedFor, lookedIn, rootsOf } from "../input/sources.ts";
import { reportFailure } from "../render/failure.ts";
import { showLoaded } from "../render/loaded.ts";
import { processTerminal } from "../render/terminal.ts";
import { type Place, placeLine } from "../render/value.ts";
import { documentOptions } from "../session/settings.ts";

/** The exit code of a search that could not look, as grep has it. */
export const COULD_NOT_LOOK = 2;
const NOTHING_FOUND = 1;

/** `belay find`: prints each line that matches. Gives the exit code. It keeps nothing, so that signals end it at once. */
export async function findCommand(args: Arguments, _host: Host, { ignoreCase = false }: FindFlags): Promise<number> {
  let closed: number | null = null;
  const terminal = processTerminal((code) => {
    closed = code;
  });
  const wanted = lookedFor(args, "find", "pattern");
  const isJson = args.get(JSON_OUTPUT);
  try {
    const pattern = compileFind(wanted.text, ignoreCase ? "im" : "m");
    const decoding = { encoding: args.get(ENCODING), lossy: args.get(LOSSY) };
    const documents = { ...documentOptions(), secrets: args.get(INCLUDE_SECRETS), ...decoding };
    const options = { roots: rootsOf(wanted), cwd: process.cwd(), documents };
    const sources = await lookedIn(wanted, new AbortController().signal);
    const context = await contextOf(sources.map((source) => ({ source, options })));
    if (!context) throw new Error("there is no path to look in");
    if (!args.get(QUIET)) showLoaded(context.stats, terminal.stderr, args.get(VERBOSE));
    const { isTerminal } = terminal.stdout;
    const print = isJson ? jsonLine : isTerminal ? placeLine : plainLine;
    const shown = { ...context, documents: asTyped(wanted, context.documents) };
    let found = 0;
    for (const lines of linesThatMatch(shown, pattern, isTerminal)) {
      found += lines.length;
      terminal.stdout.writeRaw(lines.map((line) => `${print(line, terminal.stdout)}\n`).join(""));
      // A reader that has gone is told of in between.
      await setImmediate();
      if (closed !== null) return closed;
    }
    return found > 0 ? 0 : NOTHING_FOUND;
  } catch (error) {
    reportFailure(error, terminal, isJson);
    return COULD_NOT_LOOK;
  }
}

type Line = Required<Omit<Place, "marks">> & Pick<Place, "marks">;

const AT_ONCE = 500;

/** Lines of documents in which something matches, some at a time. @param isShort of long lines only a part is wanted */
function* linesThatMatch(context: Context, pattern: FindPattern, isShort: boolean): Generator<readonly Line[]> {
  const places = openPlaces(context.text, context.documents);
  places.prepare();
  let lines: Line[] = [];
  let last: Pick<Line, "id" | "line"> = { id: "", line: 0 };
  for (const some of matchesIn(context.text.data, pattern)) {
    for (const [byte] of some) {
      const start = context.text.unitAt(byte);
      const place = places.at(start);
      // Between documents stand their names.
      if (!place || start < place.start || start >= place.end) continue;
      const { id, line, column, place: part } = place;
      if (last.id === id && last.line === line) continue;
      last = { id, line };
      const text = isShort ? places.lineText(start) : lineIn(context, start - column + 1, place.end);
      lines.push({ id, line, column, place: part, text, marks: [] });
      if (lines.length < AT_ONCE) continue;
      yield lines;
      lines = [];
    }
  }
  if (lines.length > 0) yield lines;
}

const SLICE_UNITS = 4096;

/** The line that begins there, whole. */
function lineIn({ text }: Context, start: number, end: number): string {
  let line = "";
  for (let at = start; at < end && !line.includes("\n"); at += SLICE_UNITS) {
    line += text.slice(at, Math.min(at + SLICE_UNITS, end));
  }
  return line.split("\n", 1)[0]?.replace(/\r$/, "") ?? "";
}

/** A line for a pipe: the text as it is in the file. */
const plainLine = ({ id, line, column, text }: Line) => `${inLine(id)}:${line}:${column}: ${text}`;

const jsonLine = ({ id, line, column, place, text }: Line) =>
  jsonText({ path: id, line, column, ...(place === null ? {} : { place }), text });
