import type { Json } from "../../index.ts";
import { canonicalJson } from "../../platform/canonical-json.ts";
import { messageOf } from "../../platform/errors.ts";
import { BadLine, linesOf, placeOf } from "./lines.ts";

/** A job's input, and where the user gave it. */
export interface Input {
  readonly at: string;
  readonly value: Json;
}

/** A JSON value on each line; blank lines are passed over. @throws BadLine */
export async function* jsonLines(chunks: AsyncIterable<Uint8Array>, name: string): AsyncIterable<Input> {
  for await (const { number, text } of linesOf(chunks, name)) {
    if (text.trim() === "") continue;
    const at = placeOf(number, name);
    yield { at, value: readValue(text, at) };
  }
}

function readValue(text: string, at: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new BadLine(at, `is not valid JSON: ${reasonOf(error)}`, "Each line is one JSON value.");
  }
  if (canonicalJson(value) !== null) return value;
  throw new BadLine(at, "is nested too deeply, or has a number too large for JavaScript");
}

/** V8 quotes the text, which may be long and have control characters. */
const reasonOf = (error: unknown) =>
  messageOf(error)
    .replace(/,? ?(\.\.\.)?".*$/s, "")
    .slice(0, 100);
