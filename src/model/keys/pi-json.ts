import { RlmError } from "../../../runtime/index.ts";
import { readBoundedFile } from "../../platform/bounded-file.ts";
import { isRecord } from "../../platform/json.ts";

/**
 * A JSON object from a file, with the line comments and trailing commas that Pi allows; undefined if the file is not there
 * or empty.
 *
 * @throws RlmError `invalid_config` for anything else. Its message never quotes the file, which may hold keys
 */
export function readJsonFile(file: string): { readonly [key: string]: unknown } | undefined {
  const read = readBoundedFile(file, { maxBytes: MAX_BYTES, followsLink: true });
  if (read === undefined) return undefined;
  if ("problem" in read) throw new RlmError("invalid_config", `${file} ${read.problem}`, CURE);
  if (read.text.trim() === "") return undefined;
  let json: unknown;
  try {
    json = JSON.parse(withoutComments(read.text));
  } catch {
    throw invalidFile(file, "it is not valid JSON");
  }
  if (isRecord(json)) return json;
  throw invalidFile(file, "it does not hold a JSON object");
}

export function invalidFile(file: string, problem: string): RlmError {
  return new RlmError("invalid_config", `${file}: ${problem}`, CURE);
}

const CURE = { suggestion: "Correct or remove the file." };
const MAX_BYTES = 1024 * 1024;

function withoutComments(text: string): string {
  const outsideTexts = (match: string, other: string) => (match.startsWith('"') ? match : other);
  return text
    .replace(/"(?:\\.|[^"\\])*"|\/\/[^\n]*/g, (match) => outsideTexts(match, ""))
    .replace(/"(?:\\.|[^"\\])*"|,(\s*[}\]])/g, (match, end: string) => outsideTexts(match, end));
}
