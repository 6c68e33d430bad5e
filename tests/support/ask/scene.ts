import { onTestFinished } from "vitest";
import { openSession, type SessionOptions } from "../../../src/index.ts";
import { type ModelScript, type ScriptedAnswer, startModelServer } from "../model-server.ts";

process.env.ASK_KEY = "k";

/** A session over one text, named notes.txt, whose model is this script. */
export async function askScene(script: ModelScript, text: string, options: SessionOptions = {}) {
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  const session = await openSession({ model: "local/root", baseUrl: server.url, apiKeyEnv: "ASK_KEY", ...options });
  onTestFinished(() => session.close());
  await session.load({ text, name: "notes.txt" });
  return { server, session };
}

let uses = 0;

/** A reply that runs this cell. */
export const cell = (code: unknown, name = "rlm_exec"): ScriptedAnswer => ({
  tools: [{ id: `u${++uses}`, name, arguments: { code } }],
});
