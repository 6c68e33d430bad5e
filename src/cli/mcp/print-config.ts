import { resolve } from "node:path";
import { canonical } from "../../context/index.ts";
import { addressOf, type Client, configFor, entrySession, TOKEN_VARIABLE, WHERE } from "../../mcp/index.ts";
import { endSentence, keyVariable } from "../../models/index.ts";
import { hasSecret, placeOf } from "../../store/store-place.ts";
import type { Arguments } from "../flags/arguments.ts";
import { INPUT_FLAGS, NAMED_FLAGS, SESSION_FLAGS } from "../flags/declared.ts";
import { sessionFlags } from "../flags/session-flags.ts";
import { commandLine } from "../flags/usage.ts";
import { processTerminal } from "../render/terminal.ts";
import { readSettings } from "../session/settings.ts";

/**
 * Prints what registers a server with these flags at a client. Gives the exit code.
 *
 * @param port of a server over HTTP that the user starts; null: the client starts the server
 * @throws UsageError, RlmError
 */
export function printConfig(client: Client, args: Arguments, port: number | null): number {
  const { model, api_key_env } = readSettings(sessionFlags(args, "mcp"));
  const variable = api_key_env ?? (model === undefined ? undefined : keyVariable(model));
  const { BELAY_HOME } = process.env;
  // Clients hand servers a short list of variables, and this is not one of them.
  const env = BELAY_HOME ? { BELAY_HOME: resolve(BELAY_HOME) } : {};
  // A file of a client is no place for a password.
  const isSecretStore = hasSecret(args.get(NAMED_FLAGS.store) ?? "");
  const secrets = [...(variable === undefined ? [] : [variable]), ...(isSecretStore ? ["BELAY_STORE"] : [])];
  const url = port === null ? null : addressOf(port, nameFor(client, args));
  process.stdout.write(configFor(client, { args: ["mcp", ...flagsOf(args)], url, secrets, env }));
  const { stderr } = processTerminal(() => {});
  if (url !== null) {
    const typed = commandLine(["mcp", "--http", "--port", `${port}`, ...flagsOf(args)]);
    stderr.write(`start the server in the project's folder with: ${typed}\n`, "dim");
    stderr.write(`start the client with the token that it prints in ${TOKEN_VARIABLE}\n`, "dim");
  } else if (isSecretStore)
    stderr.write("the URL of --store has a password: start the client with the URL in BELAY_STORE\n", "yellow");
  const ends = endSentence(model);
  if (ends !== null) stderr.write(`${ends}\n`, "yellow");
  if (!stderr.isTerminal) return 0;
  stderr.write(`for ${WHERE[client]}\n`, "dim");
  if (model === undefined) stderr.write(`${NO_MODEL}\n`, "yellow");
  return 0;
}

/** The session that the entry of a client names. */
function nameFor(client: Client, args: Arguments): string {
  const [root = process.cwd()] = args.get(INPUT_FLAGS.root);
  return args.get(NAMED_FLAGS.session) ?? entrySession(client, canonical(resolve(root)));
}

const NO_MODEL = "no model is configured, so cells cannot ask one: add --model PROVIDER/ID before --print-config";

/**
 * The other flags, as they were typed. A client starts the server in a folder of its own, so that
 * paths are absolute.
 */
function flagsOf({ inOrder }: Arguments): string[] {
  return inOrder.flatMap(({ option, value }) => {
    if (option === null || ["print-config", "http", "port"].includes(option)) return [];
    if (SESSION_FLAGS.some(({ name, type }) => name === option && type.word === null)) return [`--${option}`];
    if (option === NAMED_FLAGS.store.name) return hasSecret(value) ? [] : [`--${option}`, placeOf(value)];
    return [`--${option}`, option === INPUT_FLAGS.root.name ? resolve(value) : value];
  });
}
