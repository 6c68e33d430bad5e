export { type ConfigPlaces, readConfig } from "./config.ts";
export { findProjectFile } from "./files.ts";
export { OUTSIDE_DEFAULTS, type PiSettings, readPiConfig, subModelOfProject } from "./pi.ts";
export { INGEST_DEFAULTS } from "./pi-ingest.ts";
export { type PiOrigins, piOrigins } from "./pi-origins.ts";
export { READING_DEFAULTS } from "./pi-reading.ts";
export { type AskedSettings, KEYS, LIMIT_DEFAULTS, type Settings, SettingsSchema, variableOf } from "./settings.ts";
export { given, settingsFromTexts } from "./texts.ts";
