// A provider of promptfoo: an ask of Belay answers each prompt, over the file or folder that the test names.
//
//   npm i belay-rlm promptfoo && npx promptfoo eval -c promptfooconfig.yaml
//
// with this promptfooconfig.yaml, and tests of your own or of `belay eval` (the fields of its items.jsonl are vars):
//
//   prompts: ["{{question}}"]
//   providers: [{ id: "file://belay.mjs", config: { model: "openai/gpt-5-mini", budget: { max_cost_usd: 0.5 } } }]
//   tests: [{ vars: { question: "Who signed?", file: "contracts" }, assert: [{ type: icontains, value: "Ada Berg" }] }]
import { resolve } from "node:path";
import { openSession } from "belay-rlm";

export default class Belay {
  /** `config` has options of `openSession`: model, baseUrl, budget … promptfoo adds basePath. */
  constructor({ id = "belay", config: { basePath: _, ...options } = {} } = {}) {
    this.named = id;
    this.options = options;
  }

  id() {
    return this.named;
  }

  async callApi(prompt, { vars }, { abortSignal } = {}) {
    const file = resolve(String(vars.file));
    await using session = await openSession({ ...this.options, roots: [file] });
    await session.load(file);
    const answer = await session.ask(prompt, abortSignal ? { signal: abortSignal } : {});
    const { input, output, cache_read, cache_write, cost_usd } = answer.usage;
    const read = input + cache_read + cache_write;
    const took = {
      tokenUsage: { prompt: read, completion: output, cached: cache_read, total: read + output },
      cost: cost_usd,
      metadata: { turns: answer.turns, cells: answer.cells, sub_calls: answer.sub_calls, coverage: answer.coverage },
    };
    if (!answer.success) return { error: `${answer.error_code}: ${answer.error_message}`, ...took };
    return { output: typeof answer.answer === "string" ? answer.answer : JSON.stringify(answer.answer), ...took };
  }
}
