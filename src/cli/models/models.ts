import { RlmError } from "../../index.ts";
import { defaultModels, type ModelFacts, noModelCure, refreshModels } from "../../models/index.ts";
import { compact } from "../../platform/figures.ts";
import { readConfig, type Settings } from "../../settings/index.ts";
import type { Host } from "../commands/define.ts";
import type { ModelsFlags } from "../commands/models.ts";
import type { Arguments } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { settingsIn } from "../flags/values.ts";
import { table } from "../render/table.ts";
import { inFlags } from "../render/wording.ts";
import { configPlaces, modelsListed, noList } from "../session/settings.ts";
import { showingFailures } from "../store/open-store.ts";

/** `belay models`: prints what can be named with --model. */
export function modelsCommand(args: Arguments, _host: Host, own: ModelsFlags): Promise<number> {
  return showingFailures(args, async ({ stdout, stderr }) => {
    const settings = readConfig(settingsIn(args, "belay help models"), configPlaces());
    if (own.refresh) await refresh(own.from);
    const models = await modelsListed(settings);
    if (!models) throw noList(settings.base_url ?? "");
    const usual = settings.model ?? defaultOf(models, settings);
    const words = args.positionals.map((word) => word.toLowerCase());
    const fitting = models.filter(({ id }) => words.every((word) => id.toLowerCase().includes(word)));
    const keyed = fitting.filter(({ has_key }) => has_key);
    const others = words.length > 0 || own.all ? fitting.filter(({ has_key }) => !has_key) : [];
    const shown = [...keyed, ...others];
    if (args.get(OUTPUT_FLAGS.json)) {
      stdout.json({ success: true, default: usual, models: shown });
    } else if (shown.length > 0) {
      stdout.write(`${table([HEAD, ...shown.map((each) => rowOf(each, usual))], COLUMNS, stdout).join("\n")}\n`);
    } else if (words.length > 0) {
      stderr.write(`no model has ${words.join(" ")} in its name; an id that no list has can be named all the same\n`);
    } else {
      stderr.write(`no provider has a key. ${inFlags(noModelCure(process.env))}\n`);
    }
  });
}

/** @throws RlmError `provider_error` naming the providers whose lists could not be fetched */
async function refresh(from = "https://pi.dev"): Promise<void> {
  const failed = await refreshModels(process.env, from);
  if (failed.length === 0) return;
  throw new RlmError("provider_error", `no newer list could be fetched from ${from} for ${failed.join(", ")}`, {
    suggestion: "Try again later; the lists that there are stay as they are.",
  });
}

/** The model of a command that names none; null: it has none. */
function defaultOf(models: readonly ModelFacts[], { base_url }: Settings): string | null {
  const [only, ...others] = base_url === undefined ? defaultModels(process.env) : models.map(({ id }) => id);
  return others.length > 0 ? null : (only ?? null);
}

const HEAD = ["model", "window", "in $/M", "out $/M", "thinks", "key", "ends"];
const COLUMNS = ["left", "right", "right", "right", "left", "left", "left"] as const;

function rowOf({ id, window, price, thinking, has_key, end }: ModelFacts, usual: string | null): string[] {
  const money = (value: number | undefined) => (value === undefined ? "?" : String(value));
  return [
    id === usual ? `${id} (default)` : id,
    window === null ? "?" : compact(window),
    money(price?.input),
    money(price?.output),
    thinking ? "yes" : "",
    has_key ? "yes" : "",
    end?.date ?? "",
  ];
}
