import { type Clock, RlmError } from "../../runtime/index.ts";
import { agentDirOf } from "../models/index.ts";
import { amount, compact, dollars } from "../platform/figures.ts";
import { joinSignals, settledOrAborted } from "../platform/signals.ts";
import { type ReadingEstimate, readingEstimate } from "../query/index.ts";
import { PI_DEFAULTS, subModelOfProject } from "../settings/index.ts";
import type { Conversation } from "../tools/index.ts";
import type { PiContext } from "./host.ts";
import type { Opened } from "./opened/opened.ts";
import { harmless, oneLine } from "./view/texts.ts";

/** A call's wish that models read objects. */
type Reading = Parameters<Conversation["allowed"]>[0];
type Terms = Awaited<ReturnType<Conversation["allowed"]>>;

interface ReadingParts {
  readonly context: () => PiContext;
  opened(): Promise<Pick<Opened, "settings" | "models">>;
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
}

/**
 * Decides on objects that models are to read: who may be sent them, how they are read, and whether
 * the user wants that.
 *
 * @param isAgain an earlier process has begun the call: the user is not asked once more
 * @throws RlmError `policy_violation`, `declined`, `cancelled`, `no_model_configured`
 */
export type ReadingDecision = (reading: Reading, signal: AbortSignal, isAgain: boolean) => Promise<Terms>;

export function openReading({ context, opened, env, clock }: ReadingParts): ReadingDecision {
  return async (reading, signal, isAgain) => {
    const { settings, models } = await opened();
    const price = models.price(reading.model);
    const { cwd, model: current, hasUI, ui } = context();
    if (reading.objects.some(({ of }) => of === "history")) {
      const others = subModelOfProject({ cwd, agentDir: agentDirOf(env) });
      const own = others === null ? settings.sub_model : undefined;
      checkProviders(reading, { current: current?.provider, own, others });
    }
    const { inline_tokens, child_max_tokens, confirm_calls } = { ...PI_DEFAULTS, ...settings };
    const terms = { inlineTokens: inline_tokens, maxTokens: child_max_tokens };
    const estimate = readingEstimate(reading.objects, { ...terms, together: reading.together }, price);
    if (estimate.calls <= confirm_calls) return terms;
    if (!hasUI) return { ...terms, estimate };
    if (!isAgain) await confirmed(ui, textOf(reading, estimate, reading.model ?? models.fallback), signal, clock);
    return terms;
  };
}

interface Providers {
  /** That of Pi's own model. */
  readonly current: string | undefined;
  /** `sub_model`, if the user has chosen it. */
  readonly own: string | undefined;
  /** `sub_model`, if only the project's file names it. */
  readonly others: { readonly model: string; readonly file: string; readonly userFile: string } | null;
}

/**
 * Checks that the conversation goes to the provider that Pi uses, or that the user's own file
 * names. @throws RlmError `policy_violation`
 */
function checkProviders({ model }: Reading, { current, own, others }: Providers): void {
  if (others && providerOf(others.model) !== current) {
    const problem = `${others.file} sets sub_model to ${others.model}: objects of the conversation go to the provider of Pi's model`;
    throw refused(problem, `Set sub_model in ${others.userFile}, or take it out of ${others.file}.`);
  }
  if (model === null || providerOf(model) === current || (own !== undefined && providerOf(model) === providerOf(own)))
    return;
  const problem = `the model ${model} is not of the provider of Pi's model, to which objects of the conversation go`;
  throw refused(problem, "Leave model out; only the user can choose another provider, by sub_model in belay.json.");
}

const providerOf = (model: string) => model.slice(0, model.indexOf("/"));

function refused(problem: string, suggestion: string): RlmError {
  return new RlmError("policy_violation", problem, { suggestion });
}

/** Time that the user has to answer. */
const CONFIRM_MS = 120_000;

/** @throws RlmError `declined`, `cancelled` */
async function confirmed(
  ui: PiContext["ui"],
  { title, message }: Question,
  signal: AbortSignal,
  clock: Clock,
): Promise<void> {
  const late = new AbortController();
  const callOff = clock.after(CONFIRM_MS, () => late.abort());
  using stop = joinSignals(signal, late.signal);
  let isWanted = false;
  const answered = ui.confirm(title, message, { signal: stop.signal }).then((yes) => {
    isWanted = yes && !stop.signal.aborted;
  });
  await settledOrAborted(answered, stop.signal).finally(callOff);
  answered.catch(() => {});
  if (isWanted) return;
  if (signal.aborted) throw new RlmError("cancelled", "it was cancelled", { suggestion: "Call the tool again." });
  const why = late.signal.aborted ? `nobody answered within ${CONFIRM_MS / 1000} s` : "the user does not want it";
  const suggestion = "Nothing was sent. Read fewer objects, find places with rlm_search, or ask the user what to do.";
  throw new RlmError("declined", `the objects were not read: ${why}`, { suggestion });
}

const NAMES_SHOWN = 8;

/** A question to the user. */
interface Question {
  readonly title: string;
  readonly message: string;
}

function textOf({ objects, instructions }: Reading, estimate: ReadingEstimate, model: string | null): Question {
  const { calls, input_tokens, output_tokens, cost_usd } = estimate;
  const tokens = `${compact(input_tokens)} tokens in, ${compact(output_tokens)} out`;
  const cost = cost_usd === null ? "no price" : dollars(cost_usd);
  const names = objects.slice(0, NAMES_SHOWN).map(({ name }) => oneLine(name, 60));
  const more = objects.length - names.length;
  const lines = [
    `At most ${[amount(calls, "call"), tokens, cost, ...(model === null ? [] : [harmless(model)])].join(" · ")}`,
    `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`,
    oneLine(instructions, 300),
  ];
  return { title: `Have models read ${amount(objects.length, "object")}?`, message: lines.join("\n\n") };
}
