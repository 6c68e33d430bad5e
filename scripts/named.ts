/** A script that is started by its name. */
interface NamedScript {
  readonly about: string;
  /** Runs it with the arguments of the process that follow its name. */
  start(): Promise<unknown>;
}

/**
 * Runs the script that the first argument of the process names. Without one it lists all of them; with an unknown one the process
 * ends with exit code 2.
 *
 * @param line the line that starts it, as a person types it
 */
export async function startNamed(line: string, scripts: Readonly<Record<string, NamedScript>>): Promise<void> {
  const [, , name] = process.argv;
  const named = name !== undefined && Object.hasOwn(scripts, name) ? scripts[name] : undefined;
  if (named) {
    process.argv.splice(2, 1);
    await named.start();
    return;
  }
  const names = Object.entries(scripts).map(([each, { about }]) => `  ${each.padEnd(12)}${about}`);
  const problem = name === undefined ? [] : [`There is no ${JSON.stringify(name)}.`];
  console.error([...problem, `usage: ${line} NAME [OPTIONS]`, ...names].join("\n"));
  process.exitCode = name === undefined ? 0 : 2;
}
