import { builtins, cellReference, contextNotLoaded, functionLines } from "../../../builtins/index.ts";
import { type Json, RlmError, THINKING_TOKENS, type Thinking } from "../../../runtime/index.ts";
import { loadSubCallLayer } from "../../model/index.ts";
import type { Env, Rules } from "../env.ts";
import type { Setup } from "../setup.ts";
import type { Answers } from "../sub-calls/port.ts";
import type { AskEnvelope, AskOptions } from "./api.ts";
import { beginAsk } from "./ends.ts";
import { runAsk } from "./loop.ts";
import { PROMPT_VERSION, systemPrompt } from "./prompt.ts";
import type { AskSettings } from "./records.ts";

/** Asks a question about the context. @throws RlmError for what the caller got wrong; all else is an envelope */
export async function ask(setup: Setup, question: string, options: AskOptions): Promise<AskEnvelope> {
  const { signal, suspend, trajectory = false, ...wanted } = options;
  if (!setup.state().context) throw contextNotLoaded();
  await beginAsk(setup, await begin(question, wanted, setup)); // ▣ rlm_start of the ask
  return runAsk(setup, { signal, suspend }, { isResumed: false, trajectory });
}

const DEFAULT_TURNS = 20;
const DEFAULT_TURN_TOKENS = 16_000;
const HISTORY_CHARS = 400_000;
/** Half of the model's window, at 4 characters a token. */
const CHARS_OF_WINDOW = 2;

/** The part of its session that an ask begins with. */
interface AskedSession extends Pick<Setup, "askModels" | "functions"> {
  readonly env: Pick<Env, "models">;
  readonly rules: Pick<Rules, "depth" | "maxDepth">;
  readonly answers: Pick<Answers, "thinking">;
}

/**
 * The input of an ask, as its first record keeps it. Its models are resolved and its schema is checked now, so that what is wrong with them is said
 * before anything is kept or sent.
 */
export async function begin(question: string, options: AskOptions, session: AskedSession): Promise<Json> {
  const { models } = session.env;
  const { depth, maxDepth } = session.rules;
  const { thinking = session.answers.thinking ?? "off" } = options;
  const max_depth = options.maxDepth ?? maxDepth;
  const root = models.resolve(options.model ?? null);
  const model = root.id;
  const sub_model = models.resolve(options.subModel ?? models.fallback ?? model).id;
  if (options.schema !== undefined) await checkSchema(options.schema);
  const settings: AskSettings = {
    model,
    sub_model,
    protocol: options.protocol ?? "auto",
    max_turns: options.maxTurns ?? DEFAULT_TURNS,
    turn_tokens: options.turnTokens ?? turnTokensFor(thinking),
    thinking,
    depth,
    max_depth,
    schema: options.schema ?? null,
    history_chars: Math.min(HISTORY_CHARS, CHARS_OF_WINDOW * (root.window ?? Number.POSITIVE_INFINITY)),
    prompt: PROMPT_VERSION,
  };
  const mayRecurse = depth < max_depth;
  const reference = cellReference(builtins, mayRecurse ? "explained" : "absent") + functionLines(session.functions);
  const signed = depth === 0 ? { signed: session.askModels.sign(settings) } : {};
  return { question, settings: { ...settings }, system: systemPrompt(reference, mayRecurse), ...signed };
}

/** The default has room for a cell beside the thinking of most levels. */
function turnTokensFor(thinking: Thinking): number {
  return DEFAULT_TURN_TOKENS + (THINKING_TOKENS[thinking] > THINKING_TOKENS.medium ? THINKING_TOKENS[thinking] : 0);
}

/** @throws RlmError `invalid_argument` */
export async function checkSchema(schema: Json): Promise<void> {
  const { schemaProblem, taskThread } = await loadSubCallLayer();
  const refused = await schemaProblem(schema, taskThread(), new AbortController().signal);
  if (!refused) return;
  const { message, suggestion } = refused;
  throw new RlmError("invalid_argument", `the answer's ${message}`, { suggestion });
}
