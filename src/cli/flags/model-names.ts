import { modelsMeantBy } from "../../models/index.ts";
import type { Argument, Arguments } from "./arguments.ts";
import { MODEL_SERVER } from "./declared.ts";
import { commandLine, quoted, UsageError } from "./usage.ts";

/**
 * The error for a model without its provider. It names the nearest PROVIDER/ID.
 *
 * @param bare as it was typed; without an option it is the value of BELAY_MODEL
 */
export function modelNameError(command: string, args: Arguments, bare: Argument): UsageError {
  const { option, value } = bare;
  const place = option === null ? "BELAY_MODEL" : `--${option}`;
  const meant = hasServer(args) ? [`local/${value}`] : modelsMeantBy(value, process.env);
  const [nearest] = meant;
  // What is not like the name of any model may be a key that was put there by mistake: it is not repeated.
  if (nearest === undefined) {
    const problem = `${place} must be PROVIDER/ID, such as anthropic/claude-sonnet-5, and no model is named like it`;
    return new UsageError(problem, "belay models --all");
  }
  const problem = `${place} must be PROVIDER/ID; did you mean ${meant.join(", ")}?`;
  if (option === null) return new UsageError(problem, `export BELAY_MODEL=${quoted(nearest)}`);
  const corrected = args.typed.map((word, at) => {
    if (word === value && args.typed[at - 1] === `--${option}`) return nearest;
    return word === `--${option}=${value}` ? `--${option}=${nearest}` : word;
  });
  return new UsageError(problem, commandLine([command, ...corrected]));
}

/** True if the models are those of a server that the user names. */
function hasServer(args: Arguments): boolean {
  const [server] = MODEL_SERVER;
  const typed = server && args.isGiven(server) ? args.get<unknown>(server) : process.env.BELAY_BASE_URL;
  return Boolean(typed);
}
