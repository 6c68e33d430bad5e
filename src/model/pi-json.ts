import { readFileSync } from "node:fs";
import { RlmError } from "../../runtime/index.ts";
import { isRecord } from "./records.ts";

/**
 * A JSON object from a file, with the line comments and trailing commas that Pi allows; undefined if the file is not there
 * or empty.
 *
 * @throws RlmError `invalid_config` for anything else. Its message never quotes the file, which may hold keys
 */
export function readJsonFile(file: string): { readonly [key: string]: unknown } | undefined {
  const text = readText(file);
  if (text === undefined || text.trim() === "") return undefined;
  let json: unknown;
  try {
    json = JSON.parse(withoutComments(text));
  } catch {
    throw invalidFile(file, "it is no JSON");
  }
  if (isRecord(json)) return json;
  throw invalidFile(file, "it holds no object");
}

export function invalidFile(file: string, problem: string, cause?: unknown): RlmError {
  return new RlmError("invalid_config", `${file}: ${problem}`, { suggestion: "Correct or remove the file.", cause });
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (isRecord(error) && error.code === "ENOENT") return undefined;
    throw invalidFile(file, "it cannot be read", error);
  }
}

function withoutComments(text: string): string {
  const outsideTexts = (match: string, other: string) => (match.startsWith('"') ? match : other);
  return text
    .replace(/"(?:\\.|[^"\\])*"|\/\/[^\n]*/g, (match) => outsideTexts(match, ""))
    .replace(/"(?:\\.|[^"\\])*"|,(\s*[}\]])/g, (match, end: string) => outsideTexts(match, end));
}
