import { Console } from "node:console";

/** Methods that print on stdout. */
const PRINTING: readonly string[] = [
  ...["log", "info", "debug", "dir", "dirxml", "table"],
  ...["group", "groupCollapsed", "groupEnd", "count", "timeLog", "timeEnd"],
];

/** Prints on stderr what would be on stdout, which is the client's: SDKs of providers log. */
export function consoleToStderr(given: Console, stderr: NodeJS.WritableStream): void {
  const own: Console = new Console({ stdout: stderr, stderr });
  for (const name of PRINTING) Reflect.set(given, name, Reflect.get(own, name).bind(own));
}
