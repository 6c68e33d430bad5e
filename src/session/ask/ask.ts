import { builtins, cellReference, contextNotLoaded, functionLines } from "../../../builtins/index.ts";
import { type Json, RlmError, THINKING_TOKENS } from "../../../runtime/index.ts";
import { loadSubCallLayer } from "../../models/index.ts";
import { openRecorder } from "../exec/recorder.ts";
import { ownBudget, startOf } from "../exec/work.ts";
import type { SessionParts } from "../parts.ts";
import type { AskEnvelope, AskOptions } from "./api.ts";
import { runAsk } from "./loop.ts";
import { PROMPT_VERSION, systemPrompt } from "./prompt.ts";
import type { AskSettings } from "./records.ts";

/** Asks a question about the context. @throws RlmError for what the caller got wrong; all else is an envelope */
export async function ask(setup: SessionParts, question: string, options: AskOptions): Promise<AskEnvelope> {
  const { signal, suspend, trajectory = false, budget, ...wanted } = options;
  if (!setup.state().context) throw contextNotLoaded();
  const input = await begin(question, wanted, setup);
  const id = setup.env.newId();
  await openRecorder(setup, id).commit([startOf(setup, { kind: "ask", input, ...ownBudget(budget) }, id)]); // ▣ rlm_start of the ask
  return runAsk(setup, { signal, suspend }, { isResumed: false, trajectory });
}

const DEFAULT_TURNS = 20;
const DEFAULT_TURN_TOKENS = 16_000;
const HISTORY_CHARS = 400_000;
/** Half of the model's window, at 4 characters a token. */
const CHARS_OF_WINDOW = 2;

/**
 * The input of an ask, as its first record keeps it. Its models are resolved and its schema is checked now, so that what is wrong with them is said
 * before anything is kept or sent.
 */
export async function begin(question: string, options: AskOptions, session: SessionParts): Promise<Json> {
  const { models } = session.env;
  const { depth, maxDepth } = session.rules;
  const { thinking = session.answers.thinking ?? "off" } = options;
  const max_depth = options.maxDepth ?? maxDepth;
  const root = models.resolve(options.model ?? null);
  const model = root.id;
  const window = root.window ?? (await root.askWindow?.()) ?? null;
  const sub_model = models.resolve(options.subModel ?? models.fallback ?? model).id;
  if (options.schema !== undefined) await checkSchema(options.schema);
  // The default has room for a cell beside the thinking of most levels.
  const more = THINKING_TOKENS[thinking] > THINKING_TOKENS.medium ? THINKING_TOKENS[thinking] : 0;
  const settings: AskSettings = {
    model,
    sub_model,
    protocol: options.protocol ?? "auto",
    max_turns: options.maxTurns ?? DEFAULT_TURNS,
    turn_tokens: options.turnTokens ?? DEFAULT_TURN_TOKENS + more,
    thinking,
    depth,
    max_depth,
    schema: options.schema ?? null,
    history_chars: Math.min(HISTORY_CHARS, CHARS_OF_WINDOW * (window ?? Number.POSITIVE_INFINITY)),
    prompt: PROMPT_VERSION,
  };
  const mayRecurse = depth < max_depth;
  const reference = cellReference(builtins, mayRecurse ? "explained" : "absent") + functionLines(session.functions);
  const signed = depth === 0 ? { signed: session.askModels.sign(settings) } : {};
  return { question, settings: { ...settings }, system: systemPrompt(reference, mayRecurse), ...signed };
}

/** @throws RlmError `invalid_argument` */
export async function checkSchema(schema: Json): Promise<void> {
  const { schemaProblem, taskThread } = await loadSubCallLayer();
  const refused = await schemaProblem(schema, taskThread(), new AbortController().signal);
  if (!refused) return;
  const { message, suggestion } = refused;
  throw new RlmError("invalid_argument", `the answer's ${message}`, { suggestion });
}
