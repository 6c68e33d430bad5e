import type { Json } from "../../../runtime/index.ts";
import type { AgentTool } from "../agent-tools/index.ts";

/** System prompt of a sub-agent, before the caller's own. */
export function agentSystem(tools: readonly AgentTool[], maxTurns: number, system: string | null): string {
  const effects = tools.filter(({ sideEffects }) => sideEffects).map(({ name }) => name);
  const reach =
    effects.length === 0
      ? "They only read."
      : `All but ${effects.join(", ")} only read; use ${effects.length === 1 ? "that one" : "those"} only if the request asks for it.`;
  const own = [
    "You are a sub-agent: a program sends you one request and uses your answer. Nobody can answer questions.",
    `Tools: ${tools.map(({ name }) => name).join(", ")}. ${reach} Use them if the request itself does not hold what you need. Relative paths begin at the top folder.`,
    `You have at most ${maxTurns} turns. Your first message without a tool call is returned to the program as text, whole: give the answer, nothing about how you found it.`,
  ].join("\n");
  return system === null ? own : `${own}\n\n${system}`;
}

/** Stands under the tool answers that the last turn begins with. */
export function lastTurnNote(): string {
  return "[This is your last turn: answer now, without tools]";
}

/** Follows the prompt of a call with a schema. */
export function schemaRequest(schema: Json): string {
  return `Answer with JSON only, no prose and no code fence. It must be valid against this JSON Schema:\n${JSON.stringify(schema)}`;
}

/** Asks for the answer again. */
export function repairRequest(problems: readonly string[]): string {
  const list = problems.map((problem) => `- ${problem}`).join("\n");
  return `Your answer does not fit the JSON Schema:\n${list}\nAnswer again with the corrected JSON only.`;
}
