import { isRecord } from "../platform/json.ts";
import { readObject } from "./files.ts";
import { agentFileOf, type PiConfigPlaces, projectFileOf, readPiConfig } from "./pi.ts";
import { INGEST_DEFAULTS, OUTSIDE_DEFAULTS, PI_KEYS, READING_DEFAULTS } from "./pi-keys.ts";
import { KEYS, LIMIT_DEFAULTS, variableOf } from "./settings.ts";

/** Settings in force, and the origin of each. */
export interface PiOrigins {
  readonly settings: readonly PiOrigin[];
  /** Files that are read, whether they exist or not; the first goes before the others. */
  readonly files: readonly string[];
}

export interface PiOrigin {
  readonly key: string;
  readonly value: string;
  /** Path of a file, name of a variable, or null if it is the default. */
  readonly from: string | null;
}

/** @throws RlmError `invalid_config` */
export function piOrigins(places: PiConfigPlaces): PiOrigins {
  const held = new Map<string, unknown>(Object.entries(readPiConfig(places)));
  const files = [projectFileOf(places), agentFileOf(places), places.userFile];
  const given = files.map((path) => ({ path, settings: new Map(Object.entries(readObject(path))) }));
  const settings = PI_KEYS.map((key): PiOrigin => {
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

/** The defaults, in words or as numbers. */
export const PI_DEFAULTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...LIMIT_DEFAULTS,
    sub_model: "the model of Pi",
    thinking: "off",
    delivery: "now",
    auto_continue: false,
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
