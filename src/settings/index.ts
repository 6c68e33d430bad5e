export {
  type ConfigPlaces,
  findProjectFile,
  readConfig,
  readUserFile,
  refuseVariables,
  settingsFromTexts,
} from "./config.ts";
export { optionsOf, runFieldsOf } from "./options.ts";
export { type PiOrigins, type PiSettings, piOrigins, readPiConfig, subModelOfProject } from "./pi.ts";
export { PI_DEFAULTS } from "./pi-table.ts";
export {
  type AskedSettings,
  KEYS,
  RecordedSchema,
  recordedOf,
  type Settings,
  usualLimit,
  variableOf,
} from "./settings.ts";
export { isCollector, ROWS, SETTINGS, type SettingFlag } from "./table.ts";
