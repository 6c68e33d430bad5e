import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { PI_LINES, type PiLine } from "../tests/support/pi/process.ts";

/**
 * Runs a script with what `read` makes of its arguments; bad arguments are answered with the usage line and exit code 2.
 *
 * @param run answers the process's exit code
 */
export async function script<Options>(
  usage: string,
  read: (args: string[]) => Options,
  run: (options: Options) => number | Promise<number>,
): Promise<void> {
  let options: Options;
  try {
    options = read(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\nusage: ${usage}`);
    process.exitCode = 2;
    return;
  }
  process.exitCode = await run(options);
}

/** The option's value. @throws Error if it is not a whole number from 1 on: a campaign of 0 runs would show nothing */
export function wholeNumber(option: string, text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text))
    throw new Error(`--${option} takes a number from 1 on, not ${JSON.stringify(text)}`);
  return Number(text);
}

/** The option's value, or another one each time. It is printed, so that a run can be made again. */
export function seedOf(text: string | undefined): number {
  return text === undefined ? Date.now() % 1_000_000_000 : wholeNumber("seed", text);
}

/** The line of Pi that an option names, by its version or the path of its command; or all of them. @throws Error if there is no such line */
export function piLines(named: string | undefined): readonly PiLine[] {
  if (named !== undefined && existsSync(named)) return [{ version: named, command: resolve(named) }];
  const lines = PI_LINES.filter(({ version }) => named === undefined || named === version);
  if (lines.length === 0)
    throw new Error(`--pi is ${PI_LINES.map(({ version }) => version).join(" or ")}, or the path of Pi's cli.js`);
  return lines;
}
