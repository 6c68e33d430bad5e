import type { ScriptedAnswer, SeenRequest } from "./model-server.ts";

/** A model that answers questions by a rule. The rule is given the question, and what of the text its prompt has. */
export type Rule = (question: string, text: string | null) => string;

const USAGE = { usage: { prompt: 1000, completion: 100, cached: 400 } };

/** Asks look at P in a first turn, and answer by the rule in the second; prompts are answered by it at once. */
export function evalModel(rule: Rule): (request: SeenRequest) => ScriptedAnswer {
  return ({ body }) => {
    const first = body.messages.find(({ role }) => role === "user")?.content;
    const asked = typeof first === "string" ? first : JSON.stringify(first);
    const [, text, question] = /^Text:\n\n(.*)\n\nQuestion about the text: (.*)$/s.exec(asked) ?? [];
    if (question !== undefined) return { text: rule(question, text ?? ""), ...USAGE };
    const turn = body.messages.filter(({ role }) => role === "assistant").length;
    const own = asked.split("\n\nP has ")[0] ?? "";
    const code = turn === 0 ? "print(stats().chars, peek(0, 2000));" : `answer(${JSON.stringify(rule(own, null))});`;
    return { tools: [{ id: `cell-${turn}`, name: "rlm_exec", arguments: { code } }], ...USAGE };
  };
}
