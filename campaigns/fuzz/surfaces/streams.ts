import { openModels } from "../../../src/models/models.ts";
import { startModelServer } from "../../../tests/support/model-server.ts";
import { distorted, mutated, pick, type Random } from "../mutate.ts";
import { type OpenSurface, unnamed } from "../surface.ts";

const CHUNK = { id: "c", model: "m" };
const choice = (delta: object, finish_reason: string | null = null) => ({
  ...CHUNK,
  choices: [{ index: 0, delta, finish_reason }],
});
const tool = { index: 0, id: "t", type: "function", function: { name: "x", arguments: "{}" } };
const LAST = [
  choice({}, "stop"),
  { ...CHUNK, choices: [], usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } },
];
const EVENTS: readonly object[] = [
  ...[choice({ role: "assistant", content: "an answer" }), choice({ reasoning_content: "a thought" })],
  ...[choice({ tool_calls: [tool] }), choice({}, "length"), { error: { message: "overloaded", code: 529 } }, ...LAST],
];

/** Streams of a provider: a request has an answer or a failure with a cure, and usage that is a number. */
export const openStreams: OpenSurface = async () => {
  // The provider's SDK would print what it cannot read.
  process.env.OPENAI_LOG ??= "off";
  let body = "";
  const server = await startModelServer(() => ({ body }));
  const model = openModels({ model: "local/m", baseUrl: server.url, apiKeyEnv: "K", env: { K: "key" } }).resolve(null);
  const request = { system: null, tools: [], maxTokens: 100, timeoutMs: 9000, cache: "none" } as const;
  return {
    async play(random) {
      body = bodyOf(random);
      try {
        const messages = [{ role: "user", text: "hi" } as const];
        const answer = await model.complete({ ...request, messages }, new AbortController().signal);
        const figures = Object.values(answer.usage);
        const wrong = figures.find((figure) => figure !== null && !(figure >= 0 && Number.isFinite(figure)));
        if (wrong !== undefined) return `its usage is ${JSON.stringify(answer.usage)}\n${body.slice(0, 800)}`;
        if (answer.ok) return typeof answer.turn.text === "string" ? null : "the text is not a string";
        const { code, message, suggestion } = answer.error;
        return code && message && suggestion ? null : `the failure is ${JSON.stringify(answer.error)}`;
      } catch (error) {
        return unnamed(error);
      }
    },
    [Symbol.asyncDispose]: () => server.close(),
  };
};

function bodyOf(random: Random): string {
  const events = Array.from({ length: 5 }, () => pick(random, EVENTS)).concat(random() < 0.7 ? LAST : []);
  const text = events.map((event) => `data: ${JSON.stringify(random() < 0.3 ? distorted(random, event) : event)}\n\n`);
  const whole = `${text.join("")}data: [DONE]\n\n`;
  return random() < 0.5 ? whole : Buffer.from(mutated(random, Buffer.from(whole))).toString();
}
