import { RlmError } from "../../../runtime/index.ts";
import { homeFolder } from "../../platform/home.ts";
import { checkSessionName } from "../../session/session-name.ts";
import { type AskedSettings, settingsFromTexts } from "../../settings/index.ts";
import { placeOf } from "../../store/store-place.ts";
import type { Arguments } from "./arguments.ts";
import { INPUT_FLAGS, NAMED_FLAGS, SERVER_FLAGS, SESSION_FLAGS } from "./declared.ts";
import type { Flag } from "./flag.ts";
import { UsageError } from "./usage.ts";

// Values that can be read and checked without what opens sessions: a server is started before that
// is loaded.

/** All flags that fill a configuration key. */
const SETTING_FLAGS: readonly Flag[] = [...SESSION_FLAGS, ...SERVER_FLAGS];

/** The flag that fills a configuration key. */
export function flagOf(key: string, flags: readonly Flag[] = SETTING_FLAGS): Flag | undefined {
  return flags.find(({ setting }) => setting === key);
}

/**
 * The settings that flags name.
 *
 * @param flags those that the command has
 * @throws UsageError for a value that configuration refuses
 */
export function settingsIn(args: Arguments, help: string, flags: readonly Flag[] = SETTING_FLAGS): AskedSettings {
  const roots = args.get(INPUT_FLAGS.root);
  const textOf = (key: string) => {
    const flag = flagOf(key, flags);
    const value = flag && args.get(flag);
    return typeof value === "string" ? value : undefined;
  };
  const read = () => settingsFromTexts(textOf, (key) => `--${flagOf(key, flags)?.name}`);
  const settings = orUsage(read, help, ({ message }) => message);
  return roots.length > 0 ? { ...settings, roots: [...roots] } : settings;
}

/**
 * The way in which contexts and tables are read. A flag that the command does not have is as if it
 * was not typed.
 */
export function loadingIn(args: Pick<Arguments, "get">) {
  return {
    raw: args.get(INPUT_FLAGS.raw),
    secrets: args.get(INPUT_FLAGS.includeSecrets),
    encoding: args.get(INPUT_FLAGS.encoding),
    lossy: args.get(INPUT_FLAGS.lossy),
  };
}

/**
 * Reads a value, whose mistake is wrong usage.
 *
 * @param told its problem in words
 * @throws UsageError
 */
function orUsage<Read>(read: () => Read, tryThis: string, told: (error: RlmError) => string): Read {
  try {
    return read();
  } catch (error) {
    throw error instanceof RlmError ? new UsageError(told(error), tryThis) : error;
  }
}

/**
 * The place that --store or BELAY_STORE names, or the usual folder.
 *
 * @throws UsageError for a URL of something else
 */
export function storePlace(args: Pick<Arguments, "get">): string {
  const named = args.get(NAMED_FLAGS.store) ?? (process.env.BELAY_STORE || undefined);
  if (named === undefined) return homeFolder(process.env);
  const from = args.get(NAMED_FLAGS.store) === undefined ? "BELAY_STORE" : "--store";
  return orUsage(
    () => placeOf(named),
    "belay --help",
    ({ message, suggestion }) => `${from}: ${message}. ${suggestion}`,
  );
}

/**
 * @param from the flag or variable that names it
 * @throws UsageError for a name that a session cannot have
 */
export function checkName(from: string, name: string, tryThis: string): void {
  const sentence = ({ message, suggestion }: RlmError) => `${from}: ${message}. ${suggestion.replace(/\.$/, "")}`;
  orUsage(() => checkSessionName(name), tryThis, sentence);
}
