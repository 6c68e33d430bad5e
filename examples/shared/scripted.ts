import type { ModelScript, ScriptedAnswer, SeenRequest } from "../../tests/support/model-server.ts";

/**
 * A model that cannot read: the cells that it writes for each question stand here in advance, a turn each. They work out what
 * they answer from P, so they hold for data of any seed. Prompts without cells, those of sub-calls, go to `call`.
 */
export function scripted(
  cellsByQuestion: Readonly<Record<string, readonly string[]>>,
  call: (prompt: string) => string = () => "I have nothing to say.",
): ModelScript {
  return (request) => {
    const question = Object.keys(cellsByQuestion).find((text) => firstMessage(request).startsWith(text));
    if (question === undefined) return { text: call(request.prompt) };
    const turn = request.body.messages.filter(({ role }) => role === "assistant").length;
    const code = cellsByQuestion[question]?.[turn];
    return code === undefined ? { text: "I have no cell left." } : cell(code.trim(), turn, request);
  };
}

function cell(code: string, turn: number, { body }: SeenRequest): ScriptedAnswer {
  return {
    tools: [{ id: `cell-${turn}`, name: "rlm_exec", arguments: { code } }],
    usage: { prompt: Math.ceil(JSON.stringify(body).length / 4), completion: Math.ceil(code.length / 4) },
  };
}

function firstMessage({ body }: SeenRequest): string {
  const content = body.messages.find(({ role }) => role === "user")?.content;
  return typeof content === "string" ? content : "";
}
