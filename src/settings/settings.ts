import * as v from "valibot";
import { RlmError } from "../../runtime/index.ts";
import { nearest } from "../platform/nearest.ts";
import { type Key, ROWS, type SETTINGS, type Setting } from "./table.ts";

type Rows = typeof SETTINGS;

type Entries = { readonly [K in Key]: v.ExactOptionalSchema<Rows[K]["schema"], undefined> };

/** The schemas of these settings, each of which may be absent. */
function entriesOf(rows: typeof ROWS): Entries;
function entriesOf(rows: typeof ROWS): object {
  return Object.fromEntries(rows.map(([key, { schema }]) => [key, v.exactOptional(schema)]));
}

const SettingsSchema = v.strictObject(entriesOf(ROWS));

/** The settings that a session records. */
export const RecordedSchema = v.strictObject(entriesOf(ROWS.filter(([, row]) => !row.notRecorded)));

/** The settings among these that a session records. */
export function recordedOf(settings: Settings): Settings;
export function recordedOf(settings: Settings): object {
  const recorded = ROWS.filter(([key, row]) => !row.notRecorded && settings[key] !== undefined);
  return Object.fromEntries(recorded.map(([key]) => [key, settings[key]]));
}

/** Settings by their keys, as files have them. */
export type Settings = Readonly<v.InferOutput<typeof SettingsSchema>>;

/** Settings of one command, by flags or variables; undefined takes back what a file sets. */
export type AskedSettings = { readonly [key in Key]?: Settings[key] | undefined };

/** The keys of all settings, in order. */
export const KEYS: readonly string[] = ROWS.map(([key]) => key);

const BY_KEY: ReadonlyMap<string, Setting> = new Map(ROWS);

/** The key of a setting that limits: its default is a number, or null for no limit. A project may only lower it. */
export type LimitKey = { [K in Key]: Rows[K] extends { readonly default: number | null } ? K : never }[Key];

/** True for the key of a setting that limits. */
export function isLimit(key: string): key is LimitKey {
  return usualLimit(key) !== undefined;
}

/** The default of a setting that limits, `null` if it is no limit; undefined for any other key. */
export function usualLimit(key: string): number | null | undefined {
  const usual = BY_KEY.get(key)?.default;
  return typeof usual === "string" ? undefined : usual;
}

/** The variable of a key: `BELAY_MAX_TOKENS`. */
export const variableOf = (key: string) => `BELAY_${key.toUpperCase()}`;

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
  const within = BY_KEY.get(key)?.namesPlaces ? (v.getDotPath(issue) ?? key).slice(key.length) : "";
  throw invalidConfig(`${place}${spelling(key)}${within} ${issue.message}`, `Correct it, or take it out.`);
}

/** A key that is not among these. @param meant the key to use instead, if it is known */
export function unknownKey(key: string, place: string, keys: readonly string[], meant = nearest(key, keys)): RlmError {
  const question = meant ? `; did you mean ${meant}?` : "";
  return invalidConfig(`${place}unknown key ${key}${question}`, `Keys are ${keys.join(", ")}.`);
}

export function invalidConfig(problem: string, suggestion: string): RlmError {
  return new RlmError("invalid_config", problem, { suggestion });
}
