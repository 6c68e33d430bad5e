import { resolve } from "node:path";
import { type Client, configFor, WHERE } from "../../mcp/index.ts";
import { keyVariable } from "../../model/index.ts";
import type { Arguments } from "../flags/arguments.ts";
import { SESSION_FLAGS } from "../flags/declared.ts";
import { sessionFlags } from "../flags/session-flags.ts";
import { processTerminal } from "../render/terminal.ts";
import { readSettings } from "../session/settings.ts";

/** Prints what registers a server with these flags at a client. Gives the exit code. @throws UsageError, RlmError */
export function printConfig(client: Client, args: Arguments): number {
  const { model, api_key_env } = readSettings(sessionFlags(args, "mcp"));
  const variable = api_key_env ?? (model === undefined ? undefined : keyVariable(model));
  const { BELAY_HOME } = process.env;
  // Clients hand servers a short list of variables, and this is not one of them.
  const env = BELAY_HOME ? { BELAY_HOME: resolve(BELAY_HOME) } : {};
  process.stdout.write(
    configFor(client, { args: ["mcp", ...flagsOf(args)], secrets: variable === undefined ? [] : [variable], env }),
  );
  const { stderr } = processTerminal(() => {});
  if (!stderr.isTerminal) return 0;
  stderr.write(`for ${WHERE[client]}\n`, "dim");
  if (model === undefined) stderr.write(`${NO_MODEL}\n`, "yellow");
  return 0;
}

const NO_MODEL = "no model is configured, so cells cannot ask one: add --model PROVIDER/ID before --print-config";

/** The other flags, as they were typed. A client starts the server in a folder of its own, so that paths are absolute. */
function flagsOf({ inOrder }: Arguments): string[] {
  return inOrder.flatMap(({ option, value }) => {
    if (option === null || option === "print-config") return [];
    if (SESSION_FLAGS.some(({ name, type }) => name === option && type.word === null)) return [`--${option}`];
    return [`--${option}`, PATHS.has(option) ? resolve(value) : value];
  });
}

const PATHS: ReadonlySet<string> = new Set(["root", "store"]);
