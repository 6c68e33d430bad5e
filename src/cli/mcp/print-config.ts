import { resolve } from "node:path";
import { type Client, configFor, WHERE } from "../../mcp/index.ts";
import { endSentence, keyVariable } from "../../model/index.ts";
import { hasSecret, placeOf } from "../../platform/store-place.ts";
import type { Arguments } from "../flags/arguments.ts";
import { ROOT, SESSION_FLAGS, STORE } from "../flags/declared.ts";
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
  // A file of a client is no place for a password.
  const isSecretStore = hasSecret(args.get(STORE) ?? "");
  const secrets = [...(variable === undefined ? [] : [variable]), ...(isSecretStore ? ["BELAY_STORE"] : [])];
  process.stdout.write(configFor(client, { args: ["mcp", ...flagsOf(args)], secrets, env }));
  const { stderr } = processTerminal(() => {});
  if (isSecretStore)
    stderr.write("the URL of --store has a password: start the client with the URL in BELAY_STORE\n", "yellow");
  const ends = endSentence(model);
  if (ends !== null) stderr.write(`${ends}\n`, "yellow");
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
    if (option === STORE.name) return hasSecret(value) ? [] : [`--${option}`, placeOf(value)];
    return [`--${option}`, option === ROOT.name ? resolve(value) : value];
  });
}
