import {
  type FindPattern,
  type FoundLine,
  openLineFinder,
  openPlaces,
  type SearchedText,
  textFromString,
} from "../../context/index.ts";
import { inLine, jsonText } from "../../platform/visible.ts";
import type { FindFlags } from "../commands/find.ts";
import { markedLine } from "./marked-line.ts";
import type { Output } from "./terminal.ts";
import { placeLine, SHOWN_UNITS } from "./value.ts";

/** The pattern, and the form in which its lines are printed. */
interface Form {
  readonly pattern: FindPattern;
  readonly flags: FindFlags;
  readonly isJson: boolean;
  readonly output: Output;
}

/** A line of a text, as it is printed. */
interface ShownLine extends FoundLine {
  readonly path: string;
  /** The part of a converted document, such as `p.12`. */
  readonly place: string | null;
}

/** Lines that are written at once. */
const AT_ONCE = 500;

/** Gives the function that prints a text: some lines at a time, and nothing if the text does not match. */
export function printedText(form: Form): (text: SearchedText) => AsyncGenerator<string> {
  const { pattern, flags, isJson } = form;
  const { count, filesWithMatches, onlyMatching } = flags;
  const around = flags.aroundContext ?? 0;
  const lines = { before: flags.beforeContext ?? around, after: flags.afterContext ?? around };
  const isAlone = count || filesWithMatches || onlyMatching;
  const context = isAlone ? { before: 0, after: 0 } : lines;
  const hasGaps = !isJson && (context.before > 0 || context.after > 0);
  const printLine = linePrinter(form);
  let last: Pick<ShownLine, "path" | "line"> | null = null;

  function printed(line: ShownLine): string {
    const isApart = last !== null && (last.path !== line.path || last.line + 1 !== line.line);
    last = line;
    return `${hasGaps && isApart ? "--\n" : ""}${(onlyMatching ? matchesOf(line) : [line]).map(printLine).join("")}`;
  }

  async function* linesOf(text: SearchedText): AsyncGenerator<ShownLine> {
    const linesIn = openLineFinder(pattern, context);
    for await (const block of text.blocks) {
      const placeAt = openPlace(text, block);
      for (const line of linesIn(block)) yield { ...line, path: text.name, place: placeAt(line) };
    }
  }

  return async function* (text) {
    let found = 0;
    let some: string[] = [];
    for await (const line of linesOf(text)) {
      found += 1;
      if (filesWithMatches) break;
      if (count) continue;
      some.push(printed(line));
      if (some.length < AT_ONCE) continue;
      yield some.join("");
      some = [];
    }
    const path = inLine(text.name);
    if (found > 0 && filesWithMatches) yield `${isJson ? jsonText({ path: text.name }) : path}\n`;
    else if (found > 0 && count) yield `${isJson ? jsonText({ path: text.name, count: found }) : `${path}:${found}`}\n`;
    else if (some.length > 0) yield some.join("");
  };
}

/** Tells the part of a converted document, which is one block, in which a line's first match lies. */
function openPlace({ name, places = [] }: SearchedText, block: Uint8Array): (line: FoundLine) => string | null {
  if (places.length === 0) return () => null;
  const text = textFromString(Buffer.from(block).toString());
  const document = { id: name, path: "-", start: 0, end: text.length, size: text.length, places };
  const { at } = openPlaces(text, [document]);
  return (line) => at(text.unitAt(line.byte))?.place ?? null;
}

/** A line for each match, with the match as its text. */
function matchesOf(line: ShownLine): ShownLine[] {
  const lead = (line.column ?? 1) - (line.marks[0]?.[0] ?? 0);
  return line.marks.map(([start, end]) => ({
    ...line,
    column: lead + start,
    text: line.text.slice(start, end),
    marks: [[0, end - start]],
  }));
}

/** Prints a line as JSON, for a terminal, or for a pipe as the text is in the file. */
function linePrinter({ isJson, output, flags }: Form): (line: ShownLine) => string {
  const { isTerminal, paint } = output;
  const most = flags.maxColumns ?? (isTerminal ? SHOWN_UNITS : Number.POSITIVE_INFINITY);
  const plain = { paint: (text: string) => text };
  const shown = ({ text, marks }: ShownLine) => {
    if (isTerminal) return markedLine(text, marks, most, output);
    return text.length > most ? markedLine(text, marks, most, plain) : text;
  };
  return (line) => {
    if (isJson) return `${jsonLine(line)}\n`;
    const { path: id, line: number, column, place, text, marks } = line;
    if (column === null) {
      return `${paint(inLine(id), "magenta")}-${paint(String(number), "green")}- ${shown(line)}\n`;
    }
    if (isTerminal) return `${placeLine({ id, line: number, column, place, text, marks }, output, most)}\n`;
    return `${inLine(id)}:${number}:${column}: ${shown(line)}\n`;
  };
}

function jsonLine({ path, line, column, place, text, isCut }: ShownLine): string {
  return jsonText({
    path,
    line,
    ...(column === null ? {} : { column }),
    ...(place === null ? {} : { place }),
    text,
    ...(isCut ? { cut: true } : {}),
  });
}
