import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { onTestFinished } from "vitest";
import type { Host } from "../../src/session/env.ts";
import type { HostedOptions, SessionEvent } from "../../src/session/index.ts";
import { type JournalRecord, readRecord, type ToolResult } from "../../src/session/journal/records.ts";
import { openSessionWith } from "../../src/session/session.ts";
import { type Store, shareStore } from "../../src/store/index.ts";
import { type BatchServer, type BatchServerOptions, startBatchServer } from "./batch-server/index.ts";
import { folderWith } from "./tree.ts";

/** Waits of the collector are so much shorter in tests. */
const PACE = "0.02";

export const KEY_OF_TESTS = "OPENAI_API_KEY";

/** Variables of a command whose calls go by batches. */
export const DELIVERY_ENV = { [KEY_OF_TESTS]: "key-1", BELAY_SHIPPING_PACE: PACE };

/** Sets variables of this process until the test ends. */
export function withVariables(variables: Readonly<Record<string, string>> = DELIVERY_ENV): void {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  onTestFinished(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
}

export interface DeliveryScene {
  readonly server: BatchServer;
  readonly folder: string;
  readonly store: Store;
  readonly events: SessionEvent[];
  /** Opens the session of the scene, anew or as it stands. Its calls go by batches unless the options say otherwise. */
  open(options?: HostedOptions, host?: Host): ReturnType<typeof openSessionWith>;
  journal(session: string): Promise<readonly JournalRecord[]>;
  results(session: string): Promise<readonly ToolResult[]>;
  /** Reads or changes the rows of the store by hand. */
  rows(statement: string): readonly Record<string, unknown>[];
}

/** A store in a folder, and a server that takes batches. */
export async function deliveryScene(options: BatchServerOptions = {}): Promise<DeliveryScene> {
  withVariables();
  const server = await startBatchServer(options);
  const folder = folderWith();
  const store = await shareStore(folder);
  const events: SessionEvent[] = [];
  const open: DeliveryScene["open"] = async (more = {}, host = {}) => {
    const session = await openSessionWith(
      {
        ...{ session: "s", model: "local/m", baseUrl: server.baseUrl("openai-completions"), apiKeyEnv: KEY_OF_TESTS },
        ...{ delivery: "batch", onProgress: (event) => events.push(event) },
        ...more,
      },
      { store, ...host },
    );
    onTestFinished(() => session.close());
    return session;
  };
  onTestFinished(async () => {
    await server.close();
    await store[Symbol.asyncDispose]();
  });
  const journal = async (session: string) => (await store.journal(session)).map(({ record }) => readRecord(record));
  return {
    ...{ server, folder, store, events, open, journal },
    results: async (session) =>
      (await journal(session)).filter((record): record is ToolResult => record.record === "rlm_tool_result"),
    rows(statement) {
      using database = new DatabaseSync(join(folder, "belay.db"));
      return database.prepare(statement).all();
    },
  };
}
