import type { Json } from "../../index.ts";
import { jsonParts, prettyJson } from "./json.ts";
import { placeLine, placesIn } from "./places.ts";
import { type Output, type Style, writeData } from "./terminal.ts";

/** A value and a newline; on a terminal a line for each place, if it is nothing but places. */
export function showValue(value: Json, output: Output): void {
  if (typeof value === "string") {
    writeData(output, value.endsWith("\n") ? value : `${value}\n`);
    return;
  }
  const places = output.isTerminal ? placesIn(value) : null;
  if (places) {
    output.writeRaw(places.map((place) => `${placeLine(place, output)}\n`).join(""));
    return;
  }
  const json = prettyJson(value, output.columns);
  if (!output.colours) output.write(`${json}\n`);
  else
    output.writeRaw(
      `${jsonParts(json)
        .map(({ text, kind }) => output.paint(text, COLOURS[kind]))
        .join("")}\n`,
    );
}

const COLOURS: Record<ReturnType<typeof jsonParts>[number]["kind"], Style | undefined> = {
  key: "cyan",
  string: "green",
  number: "yellow",
  word: "magenta",
  other: undefined,
};
