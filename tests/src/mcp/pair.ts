import { Client, type ClientOptions, InMemoryTransport } from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import type { Clock } from "../../../runtime/index.ts";
import type { AnswerLimits } from "../../../src/mcp/calls.ts";
import { openShutdown, type SessionSource, serve } from "../../../src/mcp/index.ts";
import { openSessionWith } from "../../../src/session/session.ts";
import type { Answers } from "../../../src/session/sub-calls/port.ts";
import { type SessionRow, shareStore } from "../../../src/store/index.ts";
import { lengthAnswers } from "../../support/length-answers.ts";
import { folderWith } from "../../support/tree.ts";

export type Era = "legacy" | "modern";
export const ERAS: readonly Era[] = ["legacy", "modern"];

/** The answer of a tool as a model reads it. */
export interface Told {
  readonly success: boolean;
  readonly [field: string]: unknown;
}

export interface PairOptions {
  readonly era?: Era;
  readonly tools?: "core" | "workflow" | "all";
  readonly limits?: Partial<AnswerLimits>;
  readonly answers?: Answers;
  /** A server whose model drives asks, and answers sub-calls in place of `answers`. */
  readonly modelUrl?: string;
  readonly clock?: Clock;
  readonly client?: ClientOptions;
  /** What the client calls itself. */
  readonly name?: string;
  readonly source?: Partial<SessionSource>;
  /** Prepares the client before it connects. */
  before?(client: Client): void;
}

export const WHOLE: AnswerLimits = {
  answerMs: Number.POSITIVE_INFINITY,
  answerMsWithProgress: Number.POSITIVE_INFINITY,
  answerBytes: 40_000,
};

process.env.MCP_KEY = "key";

/** A project with a store beside it. */
export function project() {
  return { folder: folderWith({ "a.txt": "alpha beta alpha\n", "more/b.txt": "gamma\n" }), home: folderWith({}) };
}

export type Project = ReturnType<typeof project>;

/** Sessions of a project, without the command's settings. */
export function projectSource(
  { folder, home }: Project,
  { answers = lengthAnswers(), modelUrl }: PairOptions,
): SessionSource {
  const named = modelUrl === undefined ? {} : { model: "local/m", baseUrl: modelUrl, apiKeyEnv: "MCP_KEY" };
  const answering = modelUrl === undefined ? { answers } : {};
  return {
    ...{ named: null, roots: [], cwd: folder, home: "/nobody" },
    openStore: () => shareStore(home),
    open: (store, { row, name, folder: owner, roots, onProgress, client }) =>
      openSessionWith(
        { session: row?.id ?? name, roots, cwd: folder, onProgress, ...named },
        { store, origin: "mcp", settings: () => ({ folder: owner, client }), ...answering },
      ),
    madeFor,
    folderOf: madeFor,
    clientOf: ({ settings }) => Object(settings).client ?? null,
  };
}

function madeFor({ origin, settings }: SessionRow): string | null {
  const { folder = null } = Object(settings);
  return origin === "mcp" ? folder : null;
}

/** A client of the SDK and a server that talk in this process. */
export async function openPair(of: Project, options: PairOptions = {}) {
  const { era = "legacy", tools = "core", limits } = options;
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const gone = Promise.withResolvers<number>();
  const shutdown = openShutdown({ exit: gone.resolve, on() {} });
  const notes: string[] = [];
  serve({
    ...{ version: "1.2.3", source: { ...projectSource(of, options), ...options.source }, tools },
    ...{ limits: { ...WHOLE, ...limits }, shutdown },
    ...(options.clock ? { clock: options.clock } : {}),
    transport: theirs,
    note: (line) => void notes.push(line),
  });
  const versionNegotiation = era === "modern" ? { mode: { pin: "2026-07-28" } } : undefined;
  const client = new Client(
    { name: options.name ?? "test", version: "1.0.0" },
    { ...options.client, ...(versionNegotiation ? { versionNegotiation } : {}) },
  );
  options.before?.(client);
  await client.connect(ours);
  const { onmessage } = ours;
  /** Methods of the notifications that the client was sent. */
  const told: string[] = [];
  ours.onmessage = (message, extra) => {
    if ("method" in message && !("id" in message)) told.push(message.method);
    onmessage?.(message, extra);
  };
  const close = async () => {
    await client.close();
    return gone.promise;
  };
  onTestFinished(async () => void (await close()));
  return { client, call: callerOf(client), told, notes, close, gone: gone.promise };
}

/** Calls a tool, and reads its answer: one block of text with one line of JSON. */
export function callerOf(client: Client) {
  return async (
    name: string,
    args: Record<string, unknown> = {},
    options: Parameters<Client["callTool"]>[1] = {},
  ): Promise<Told> => {
    const { content, isError, ...others } = await client.callTool({ name, arguments: args }, options);
    const [block, ...more] = content;
    if (block?.type !== "text" || more.length > 0 || "structuredContent" in others) throw new Error("not one text");
    if (block.text.includes("\n")) throw new Error("more than one line");
    const told: Told = JSON.parse(block.text);
    if (told.success === isError) throw new Error("isError says something else than success");
    return told;
  };
}
