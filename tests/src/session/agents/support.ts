import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "../../../../src/platform/make-folder.ts";
import type { Host } from "../../../../src/session/env.ts";
import type { ExecEnvelope } from "../../../../src/session/index.ts";
import type { SessionOptions } from "../../../../src/session/option-types.ts";
import { openSessionWith } from "../../../../src/session/session.ts";
import { doing, type Script, scriptedAgent } from "../../../support/agents/agents.ts";

/** A store in a folder of its own, and the log of the agents of its sessions. */
export interface Place {
  readonly store: string;
  readonly log: string;
}

export function openPlace(): Place {
  const folder = temporaryFolder("belay-session-agents-");
  onTestFinished(() => folder[Symbol.dispose]());
  const log = join(folder.path, "log");
  process.env.BELAY_AGENT_LOG = log;
  return { store: join(folder.path, "store"), log };
}

/** Opens the session `run` of a place, which lends the scripted agent `fake` and waits for the user. */
export function openRun({ store }: Place, more: Omit<Partial<SessionOptions>, "store"> = {}, host: Host = {}) {
  const options = { store, session: "run", agents: { fake: scriptedAgent() }, waitsForUser: true, ...more };
  return openSessionWith(options, host);
}

/** A call of the scripted agent, as a cell writes it. */
export const call = (script: Script, options: object = {}) =>
  `llm_query(${JSON.stringify(doing(script))}, ${JSON.stringify({ agent: "fake", ...options })})`;

/** The result of a cell, or the code and the message of its failure. */
export const told = (envelope: ExecEnvelope) =>
  envelope.success ? envelope.result_json : `${envelope.error_code}: ${envelope.error_message}`;

/** The names of the outboxes of a place, of all its sessions. */
export function outboxesIn({ store }: Place): string[] {
  const folder = join(store, "agents");
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((session) => readdirSync(join(folder, session)));
}
