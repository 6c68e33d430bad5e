import { openSession, type Session, type SessionOptions } from "../../src/index.ts";
import type { Case } from "./case.ts";
import { PROVIDERS } from "./providers.ts";
import type { RepliesServer } from "./server.ts";

/** Sessions that calls of many cases are made in, one after the other. */
export interface Sessions extends AsyncDisposable {
  /** The session for the calls of a case that name its model. */
  of(one: Case): Promise<Session>;
}

/** The name of a case's model: its id is that of the case, at the provider of its API. */
export function modelNameOf({ id, api = "chat" }: Case): string {
  return api === "chat" ? `local/${id}` : `${api}/${id}`;
}

/** The options by which a session of its own finds the model of a case. */
export function modelOf(one: Case, server: RepliesServer): SessionOptions {
  const { id, api = "chat" } = one;
  const model = modelNameOf(one);
  return api === "chat" ? { model, baseUrl: server.urlOf(id) } : { model };
}

/** No budget ends in the middle of the cases. */
const BUDGET = { max_sub_calls: 100_000, max_tokens: 1_000_000_000, max_time_ms: 3_600_000 };

/** Sessions that are opened when the first case needs them: for a server by its address, and for providers of models.json. */
export function openSessions(server: RepliesServer, files: string): Sessions {
  const opened = new Map<string, Promise<Session>>();
  return {
    of({ api = "chat" }) {
      const kind = api === "chat" ? "server" : "listed";
      const where = api === "chat" ? { baseUrl: `${server.url}/v1` } : { models: LISTED };
      const session = opened.get(kind) ?? openSession({ cwd: files, budget: BUDGET, ...where });
      opened.set(kind, session);
      return session;
    },
    async [Symbol.asyncDispose]() {
      for (const session of opened.values()) await (await session).close();
    },
  };
}

const LISTED = Object.keys(PROVIDERS).map((name) => `${name}/*`);
