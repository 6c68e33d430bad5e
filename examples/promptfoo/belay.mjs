// A provider of promptfoo: an ask of Belay answers each prompt, over the file or folder that the test names.
//
//   npm i belay-rlm promptfoo && npx promptfoo eval -c promptfooconfig.yaml
//
// with this promptfooconfig.yaml, and tests of your own:
//
//   prompts: ["{{question}}"]
//   providers: [{ id: "file://belay.mjs", config: { model: "openai/gpt-6-luna", budget: { max_cost_usd: 0.5 } } }]
//   tests: [{ vars: { question: "Who signed?", file: "contracts" }, assert: [{ type: icontains, value: "Ada Berg" }] }]
//
// or the questions of `belay eval`; an answer that has some of the expected texts is partly right:
//
//   tests: [{ path: "file://belay.mjs:questions", config: { data: "belay-eval/RUN/items.jsonl" } }]
//
// The same line again takes the answers that are recorded, also with `--no-cache`, and goes on with asks that were interrupted.
// So do `--resume` after a crash and `--retry-errors` after Ctrl-C, which promptfoo counts as an error. `run: 2` in `config` asks
// anew. The sessions stay in `store` of `config` (default: belay-store) until `belay gc --store belay-store --older-than 30d`.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { openSession, RlmError } from "belay-rlm";

export default class Belay {
  /** `config` has `run`, and options of `openSession`: model, baseUrl, budget … promptfoo adds basePath. */
  constructor({ id = "belay", config: { basePath: _, store = "belay-store", run = 1, ...options } = {} } = {}) {
    this.named = id;
    Object.assign(this, { store, run, options });
  }

  id() {
    return this.named;
  }

  async callApi(prompt, { vars, repeatIndex = 0 }, { abortSignal } = {}) {
    const file = resolve(String(vars.file));
    const asked = JSON.stringify([prompt, file, this.options, this.run, repeatIndex]);
    const name = `promptfoo-${createHash("sha256").update(asked).digest("hex").slice(0, 16)}`;
    try {
      const session = await opened({ ...this.options, roots: [file], store: this.store, session: name }, abortSignal);
      try {
        return await answered(session, { name, file, prompt, suspend: abortSignal });
      } finally {
        await session.close();
      }
    } catch (error) {
      if (!(error instanceof RlmError)) throw error;
      return { error: `${error.code}: ${error.message}` };
    }
  }

  /** Tests from lines as `belay eval --data` takes them, with a `file`. The score is the share of the expected texts. */
  static questions({ data }) {
    const lines = readFileSync(data, "utf8").split("\n").filter(Boolean);
    return lines.map((line) => {
      const { id, question, answer, file } = JSON.parse(line);
      return { description: id, vars: { question, file }, assert: [answer].flat().map(includes) };
    });
  }
}

/** The session that is named after all that is asked. Another test or process may ask the same at this moment. */
async function opened(options, signal) {
  for (;;) {
    try {
      return await openSession(options);
    } catch (error) {
      if (error.code !== "session_busy" && error.code !== "session_exists") throw error;
      await setTimeout(1000, undefined, { signal });
    }
  }
}

/** Takes the recorded answer, goes on with an ask that was interrupted, or asks anew if it failed or never began. */
async function answered(session, { name, file, prompt, suspend }) {
  const before = await session.resume({ suspend });
  const isKept = before?.kind === "ask" && (before.how === "finished" || before.envelope.success);
  if (!isKept) await session.load(file);
  const answer = isKept ? before.envelope : await session.ask(prompt, { suspend });
  const { turns, cells, sub_calls, coverage, usage } = answer;
  const { input, output, cache_read, cache_write, cost_usd } = usage;
  const read = input + cache_read + cache_write;
  const details = { cacheReadInputTokens: cache_read, cacheCreationInputTokens: cache_write };
  const took = {
    cached: isKept && before.how === "replayed",
    tokenUsage: { prompt: read, completion: output, total: read + output, completionDetails: details },
    cost: cost_usd,
    metadata: { session: name, turns, cells, sub_calls, coverage },
  };
  if (!answer.success) return { error: `${answer.error_code}: ${answer.error_message}`, ...took };
  return { output: typeof answer.answer === "string" ? answer.answer : JSON.stringify(answer.answer), ...took };
}

/** An assertion that the output has a text, and not as a part of a longer word or number. */
function includes(text) {
  const escaped = String(text).replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  const words = new RegExp(`(?<![0-9A-Za-zÀ-ӿ])${escaped}(?![0-9A-Za-zÀ-ӿ])`, "i");
  return { type: "javascript", value: `${words}.test(output)` };
}
