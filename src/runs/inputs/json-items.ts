import { LIMITS } from "../../../runtime/index.ts";
import { shellWord } from "../../platform/shell-word.ts";
import { hasFields, readJson, type WrittenJson } from "../../platform/written-json.ts";
import { BadInput, type Input, LINE_BYTES, type LineDecoding, linesOf, placeOf, readValue } from "./lines.ts";

/**
 * The items of the array that a `.json` file is, or the values of its lines if it has one on each.
 *
 * @throws BadInput
 */
export async function* jsonItems(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  decoding?: LineDecoding,
): AsyncIterable<Input> {
  const lines = await linesIn(chunks, name, decoding);
  const whole = lines.join("\n").trim();
  if (whole.startsWith("[")) {
    yield* itemsOf(readValue(whole, name), name);
    return;
  }
  const object = objectIn(whole);
  // On one line it may be a job, unless it has rows.
  if (object !== null && (whole.includes("\n") || Object.values(object).some(hasRows))) throw noArray(object, name);
  for (const [index, text] of lines.entries()) {
    if (text.trim() === "") continue;
    const at = placeOf(index + 1, name);
    yield { at, value: readValue(text, at) };
  }
}

/** All lines of a file: an array is read whole, so that it has a limit. */
async function linesIn(chunks: AsyncIterable<Uint8Array>, name: string, decoding: LineDecoding | undefined) {
  const lines: string[] = [];
  let units = 0;
  for await (const { text } of linesOf(chunks, name, LIMITS.contextBytes, decoding)) {
    units += text.length + 1;
    if (units > LIMITS.contextBytes) {
      const problem = `has more than ${LIMITS.contextBytes / 2 ** 20} MB, and an array is read whole`;
      throw new BadInput(name, problem, linesOfArray(name, ".[]"));
    }
    lines.push(text);
  }
  return lines;
}

function* itemsOf(array: WrittenJson, name: string): Iterable<Input> {
  if (!Array.isArray(array)) return;
  for (const [index, value] of array.entries()) {
    const at = `item ${index + 1} of ${name}`;
    if (Buffer.byteLength(JSON.stringify(value)) > LINE_BYTES) {
      throw new BadInput(at, "is longer than 1 MB", "Put long texts into files: --context-field F.");
    }
    yield { at, value };
  }
}

/** True for an array of objects. */
const hasRows = (value: WrittenJson | undefined) => Array.isArray(value) && hasFields(value[0]);

/** The object that the file is; null for other texts, such as lines of JSON. */
function objectIn(text: string): { readonly [name: string]: WrittenJson } | null {
  try {
    const value = readJson(text);
    return hasFields(value) ? value : null;
  } catch {
    return null;
  }
}

function noArray(object: { readonly [name: string]: WrittenJson }, name: string): BadInput {
  const fields = Object.keys(object);
  const field = fields.find((key) => hasRows(object[key])) ?? fields.find((key) => Array.isArray(object[key]));
  if (field === undefined) return new BadInput(name, "is an object, and --jobs takes an array");
  const cure = linesOfArray(name, `.[${JSON.stringify(field)}][]`);
  return new BadInput(name, `is an object, whose array is in ${JSON.stringify(field.slice(0, 80))}`, cure);
}

/** The line that makes JSON lines of an array. */
function linesOfArray(name: string, path: string): string {
  const lines = `${name.replace(/\.json$/i, "")}.jsonl`;
  return `jq -c ${shellWord(path)} ${shellWord(name)} > ${shellWord(lines)} makes a file for --jobs.`;
}
