import { delimiter } from "node:path";
import { checkSettings } from "./problems.ts";
import { type AskedSettings, isLimit, KEYS, TAKEN_BACK } from "./settings.ts";

/**
 * Settings from texts, as variables and flags have them; `undefined` takes back what a file sets.
 *
 * @param textOf the text for a key, or undefined if it is not given
 * @param spelling of a key in that place, for messages
 * @throws RlmError `invalid_config`
 */
export function settingsFromTexts(
  textOf: (key: string) => string | undefined,
  spelling: (key: string) => string,
): AskedSettings {
  const values: Record<string, unknown> = {};
  const takenBack: Record<string, undefined> = {};
  for (const key of KEYS) {
    const text = textOf(key);
    if (text === "" && TAKEN_BACK.includes(key)) takenBack[key] = undefined;
    else if (text !== undefined) values[key] = fromText(key, text);
  }
  return { ...checkSettings(values, "", spelling), ...takenBack };
}

/** A value as a text has it; the schema judges it. */
function fromText(key: string, text: string): unknown {
  if (isLimit(key)) return /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  return key === "roots" ? text.split(delimiter) : text;
}
