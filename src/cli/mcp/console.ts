type Printing = "log" | "info" | "debug";

/** Prints on stderr what would be on stdout, which is the client's: SDKs of providers log. */
export function consoleToStderr(given: Pick<Console, Printing | "error">): void {
  const print = given.error.bind(given);
  Object.assign(given, { log: print, info: print, debug: print });
}
