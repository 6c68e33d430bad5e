import * as v from "valibot";
import { RlmError } from "../../runtime/index.ts";
import { nearest } from "../platform/nearest.ts";
import { KEYS, type Settings, SettingsSchema, variableOf } from "./settings.ts";

/**
 * Settings from one place. Messages name the place and the key but never the value: it may be an API key that
 * was put there by mistake.
 *
 * @param spelling of a key in that place
 * @throws RlmError `invalid_config`
 */
export function checkSettings(
  given: Readonly<Record<string, unknown>>,
  place: string,
  spelling: (key: string) => string = (key) => key,
): Settings {
  const checked = v.safeParse(SettingsSchema, given);
  if (checked.success) return checked.output;
  const [issue] = checked.issues;
  const key = String(issue.path?.[0].key);
  if (!KEYS.includes(key)) throw unknownKey(key, place, KEYS);
  throw invalidConfig(`${place}${spelling(key)} ${issue.message}`, `Correct it, or take it out.`);
}

/** A key that is not among these. @param meant the key to use instead, if it is known */
export function unknownKey(key: string, place: string, keys: readonly string[], meant = nearest(key, keys)): RlmError {
  const question = meant ? `; did you mean ${meant}?` : "";
  return invalidConfig(`${place}unknown key ${key}${question}`, `Keys are ${keys.join(", ")}.`);
}

/** A project's file sets what it may not. */
export function refusedToProject(problem: string, key: string, userFile: string): RlmError {
  const elsewhere = key === "convert" ? "" : `, as ${variableOf(key)}, or with a flag`;
  return invalidConfig(problem, `Set it in ${userFile}${elsewhere}.`);
}

export function invalidConfig(problem: string, suggestion: string): RlmError {
  return new RlmError("invalid_config", problem, { suggestion });
}
