/** Vitest calls it before tests whose threads are started from the bundle. */
export { bundleCommands as default } from "./command.ts";
