import { isRecord } from "../platform/json.ts";
import { readObject } from "./files.ts";
import { agentFileOf, type PiConfigPlaces, projectFileOf, readPiConfig } from "./pi.ts";
import { BACKGROUND, INGEST_DEFAULTS, OUTSIDE_DEFAULTS, PI_KEYS, READING_DEFAULTS } from "./pi-keys.ts";
import { KEYS, LIMIT_DEFAULTS, variableOf } from "./settings.ts";

export type PiOrigins = ReturnType<typeof piOrigins>;

/**
 * Settings in force, each with its origin: the path of a file, the name of a variable, or null if it is the default. `files` are
 * read, whether they exist or not; the first goes before the others.
 *
 * @throws RlmError `invalid_config`
 */
export function piOrigins(places: PiConfigPlaces) {
  const held = new Map<string, unknown>(Object.entries(readPiConfig(places)));
  const files = [projectFileOf(places), agentFileOf(places), places.userFile];
  const given = files.map((path) => ({ path, settings: new Map(Object.entries(readObject(path))) }));
  const settings = PI_KEYS.map((key) => {
    const value = held.get(key);
    if (value === undefined) return { key, value: PI_DEFAULTS.get(key) ?? "none", from: null };
    const shown = Array.isArray(value)
      ? value.join(", ") || "none"
      : isRecord(value)
        ? JSON.stringify(value)
        : String(value);
    const variable = variableOf(key);
    if (KEYS.includes(key) && places.env[variable]) return { key, value: shown, from: variable };
    const setting = given.filter(({ settings }) => settings.has(key));
    // The lesser of a project's limit and the user's holds.
    const from = setting.find(({ settings }) => settings.get(key) === value) ?? setting[0];
    return { key, value: shown, from: from?.path ?? null };
  });
  return { settings, files };
}

const { max_session_budgets: _ofServers, ...LIMITS_OF_PI } = LIMIT_DEFAULTS;

/** The defaults, in words or as numbers. */
export const PI_DEFAULTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...LIMITS_OF_PI,
    sub_model: "the model of Pi",
    thinking: "off",
    temperature: "none",
    top_p: "none",
    seed: "none",
    stop: "none",
    delivery: "now",
    auto_continue: false,
    background: BACKGROUND,
    allowed_tool_overrides: "none",
    require_approval: true,
    prompt_wait_s: 120,
    ...OUTSIDE_DEFAULTS,
    ...READING_DEFAULTS,
    ...INGEST_DEFAULTS,
    read_cache: false,
    read_cache_exclude: "none",
    roots: "the project",
    convert: "none",
  }).map(([key, value]) => [key, String(value ?? "none")]),
);
