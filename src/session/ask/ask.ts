import { contextNotLoaded } from "../../../builtins/index.ts";
import type { ExecAsked } from "../exec/request.ts";
import type { Setup } from "../setup.ts";
import type { AskEnvelope, AskOptions } from "./api.ts";
import { begin } from "./begin.ts";
import { beginAsk } from "./ends.ts";
import { runAsk } from "./loop.ts";

/** Asks a question about the context. @throws RlmError for what the caller got wrong; all else is an envelope */
export async function ask(setup: Setup, question: string, options: AskOptions): Promise<AskEnvelope> {
  const { signal, suspend, trajectory = false, ...wanted } = options;
  if (!setup.state().context) throw contextNotLoaded();
  await beginAsk(setup, await begin(question, wanted, setup)); // ▣ rlm_start of the ask
  const asked: ExecAsked = { ...(signal ? { signal } : {}), ...(suspend ? { suspend } : {}) };
  return runAsk(setup, asked, { isResumed: false, trajectory });
}
