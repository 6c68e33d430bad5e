export { type ConfigPlaces, readConfig, settingsFromTexts } from "./config.ts";
export { findProjectFile, readUserFile } from "./files.ts";
export { type PiSettings, readPiConfig, subModelOfProject } from "./pi.ts";
export { BACKGROUND, INGEST_DEFAULTS, OUTSIDE_DEFAULTS, READING_DEFAULTS } from "./pi-keys.ts";
export { type PiOrigins, piOrigins } from "./pi-origins.ts";
export type { AskedSettings, Settings } from "./settings.ts";
export { isCollector, KEYS, LIMIT_DEFAULTS, SettingsSchema, variableOf } from "./settings.ts";
