import { join } from "node:path";
import { onTestFinished } from "vitest";
import { agentModels } from "../../../../src/models/agents/index.ts";
import type { AgentCall } from "../../../../src/models/agents/model.ts";
import type { ModelAnswer } from "../../../../src/models/index.ts";
import { temporaryFolder } from "../../../../src/platform/make-folder.ts";
import { doing, type Script, scriptedAgent } from "../../../support/agents/agents.ts";

/** A folder with outboxes and the log of scripted agents. */
export interface Place {
  readonly path: string;
  readonly outboxes: string;
  readonly log: string;
}

export function openPlace(): Place {
  const folder = temporaryFolder("belay-agents-");
  onTestFinished(() => folder[Symbol.dispose]());
  const log = join(folder.path, "log");
  process.env.BELAY_AGENT_LOG = log;
  return { path: folder.path, outboxes: join(folder.path, "outboxes"), log };
}

export interface Asking extends Partial<Omit<AgentCall, "key" | "folder">> {
  readonly id?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Sends one request to an agent, as the call `s/1.1` unless it says otherwise. */
export function ask(place: Place, prompt: Script | string, asking: Asking = {}): Promise<ModelAnswer> {
  const { id = "1.1", timeoutMs = 60_000, signal = new AbortController().signal, ...call } = asking;
  const models = agentModels({
    name: "fake",
    command: scriptedAgent(),
    key: ["s", id],
    folder: place.outboxes,
    model: null,
    schema: null,
    cwd: place.path,
    worktree: false,
    mostTries: 1,
    ...call,
  });
  const text = typeof prompt === "string" ? prompt : doing(prompt);
  return models
    .resolve(null)
    .complete(
      { system: null, messages: [{ role: "user", text }], tools: [], maxTokens: 100, timeoutMs, cache: "none" },
      signal,
    );
}

/** The text of an answer, or the code of its failure. */
export const told = (answer: ModelAnswer) => (answer.ok ? answer.turn.text : answer.error.code);
