import { onTestFinished } from "vitest";
import type { Models } from "../../../src/models/index.ts";
import { type HostedOptions, openSessionWith } from "../../../src/session/index.ts";
import { openStore, type Store } from "../../../src/store/index.ts";
import { type ScriptedAnswer, type SeenRequest, startModelServer } from "../model-server.ts";
import { type Around, storeAround } from "../store-around.ts";

process.env.ASK_KEY = "k";
/** 200 lines, one of which has the code. */
export const TEXT = Array.from(
  { length: 200 },
  (_, n) => `line ${n}: ${n === 137 ? "the code is 4711" : "nothing"}`,
).join("\n");

/** A reply that runs a cell. It takes 110 tokens. */
export const replyWith = (code: string): ScriptedAnswer => ({
  tools: [{ id: "u", name: "rlm_exec", arguments: { code } }],
  usage: { prompt: 100, completion: 10 },
});
export const EMPTY: ScriptedAnswer = { text: "", usage: { prompt: 100, completion: 0 } };

type Reply = ScriptedAnswer | ((request: SeenRequest) => ScriptedAnswer | Promise<ScriptedAnswer>);

/** The replies of each conversation, by the beginning of its question. */
export type Scripts = Readonly<Record<string, readonly Reply[]>>;

/** What a scene is made of beside its script. */
interface Staging {
  readonly around?: Around;
  /** The store as the sessions see it. */
  readonly seen?: (store: Store) => Store;
  /** The models of the session, by the address of the scripted server. */
  readonly models?: (url: string) => Models;
}

/** A session over TEXT in a store of its own, whose models follow the scripts. */
export async function treeScene(
  scripts: Scripts,
  options: HostedOptions = {},
  { around = (_, run) => run(), seen = (store) => store, models }: Staging = {},
) {
  const server = await startModelServer((request) => {
    const { question, turn } = asked(request);
    const key = Object.keys(scripts).find((one) => question.startsWith(one));
    const reply = scripts[key ?? ""]?.[turn] ?? { status: 418 };
    return typeof reply === "function" ? reply(request) : reply;
  });
  onTestFinished(() => server.close());
  const store = seen(storeAround(await openStore(null), around));
  onTestFinished(() => store[Symbol.asyncDispose]());
  const open = (more: HostedOptions = {}) =>
    openSessionWith(
      { model: "local/root", baseUrl: server.url, apiKeyEnv: "ASK_KEY", session: "main", ...options, ...more },
      { store, ...(models ? { models: models(server.url) } : {}) },
    );
  const session = await open();
  onTestFinished(() => session.close());
  await session.load({ text: TEXT, name: "notes.txt" });
  return { server, session, store, open };
}

/** The first message of a request's conversation, and how many replies it has had. */
function asked({ body }: SeenRequest): { readonly question: string; readonly turn: number } {
  const first = body.messages.find(({ role }) => role === "user")?.content;
  return { question: String(first), turn: body.messages.filter(({ role }) => role === "assistant").length };
}
