import { type ModelServer, type ScriptedAnswer, type SeenRequest, startModelServer } from "../model-server.ts";

/** A tool call that the model makes. */
export interface PlannedCall {
  readonly tool: string;
  readonly args: object;
}

/** What the model does in one turn: one call, or several in one message. */
export type PlannedTurn = PlannedCall | readonly PlannedCall[];

/**
 * The model behind Pi, and behind the sub-calls of its tools. What it answers depends on the conversation alone, so it
 * goes on where a killed process stopped: it looks for the last prompt that it has a plan for, and takes the turn after
 * those that the conversation has already.
 */
export interface PiModel extends AsyncDisposable {
  /** The base URL, with `/v1`. */
  readonly url: string;
  /** What to do when a prompt is this text: turn after turn, then a closing text. Answers the text. */
  plan(prompt: string, ...turns: PlannedTurn[]): string;
  /** The cells that the root model of an ask with this question runs, turn after turn. Answers the question. */
  planAsk(question: string, ...cells: string[]): string;
  /** Requests to root models of asks. */
  rootTurns(): readonly SeenRequest[];
  /** Requests of Pi itself. */
  turns(): readonly SeenRequest[];
  /** Prompts of sub-calls, in the order of their arrival; one that is sent twice stands there twice. */
  subCalls(): readonly string[];
  /** Keeps the answers to sub-calls whose prompt has this text until they are let go. */
  hold(text: string): { release(): void };
  /** Waits until the requests so far satisfy this. */
  until(holds: () => boolean): Promise<void>;
}

/** The text that ends the plan of a prompt. */
function closingText(prompt: string): string {
  return `done: ${prompt}`;
}

/** What a sub-call is answered. */
export function subCallAnswer(prompt: string): string {
  return `answer to ${prompt}`;
}

/** Longer than any test waits for a request on a busy machine. */
const NEVER_MS = 45_000;

export interface PiModelOptions {
  /** Wait before the answer to a sub-call, ms. */
  readonly delayMs?: () => number;
  /** What a sub-call is answered; default: {@link subCallAnswer}. */
  readonly says?: (prompt: string) => string;
  /** The id of each call of Pi's model; default: one of its own. */
  readonly callId?: string;
}

export async function startPiModel({ delayMs, says = subCallAnswer, callId }: PiModelOptions = {}): Promise<PiModel> {
  const plans = new Map<string, readonly PlannedTurn[]>();
  const asks = new Map<string, readonly string[]>();
  const held = new Map<string, Promise<void>>();
  const watchers = new Set<() => void>();
  const server: ModelServer = await startModelServer(async (request) => {
    for (const watch of watchers) watch();
    if (isSummary(request)) return { text: "## Goal\nA summary of what was said." };
    if (isTurn(request)) return turnOf(request, plans, callId);
    const prompt = textOf(request.body.messages.at(-1)?.content);
    if (isRootTurn(request)) return cellOf(request, asks);
    for (const [text, released] of held) if (prompt.includes(text)) await released;
    return { text: says(prompt), delayMs: delayMs?.() ?? 0 };
  });
  return {
    url: server.url,
    plan(prompt, ...turns) {
      plans.set(prompt, turns);
      return prompt;
    },
    planAsk(question, ...cells) {
      asks.set(question, cells);
      return question;
    },
    rootTurns: () => server.requests.filter(isRootTurn),
    turns: () => server.requests.filter(isTurn),
    subCalls: () =>
      server.requests
        .filter((request) => !isTurn(request) && !isRootTurn(request) && !isSummary(request))
        .map(({ body }) => textOf(body.messages.at(-1)?.content)),
    hold(text) {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.set(text, promise);
      return {
        release() {
          held.delete(text);
          resolve();
        },
      };
    },
    until: (holds) => satisfied(holds, watchers),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** The text of every tool result in a request, by the id of its call. */
export function resultsIn(request: SeenRequest | undefined): ReadonlyMap<string, string> {
  const results = (request?.body.messages ?? []).filter(({ role }) => role === "tool");
  return new Map(results.map(({ tool_call_id = "", content }) => [tool_call_id, textOf(content)]));
}

/** The text of the n-th tool result after this prompt, from 0; undefined where the conversation has none. */
export function resultTo(request: SeenRequest | undefined, prompt: string, n = 0): string | undefined {
  const messages = request?.body.messages ?? [];
  const at = messages.findIndex(({ role, content }) => role === "user" && textOf(content) === prompt);
  if (at < 0) return undefined;
  const after = messages.slice(at + 1);
  const end = after.findIndex(({ role }) => role === "user");
  const result = after.slice(0, end < 0 ? undefined : end).filter(({ role }) => role === "tool")[n];
  return result && textOf(result.content);
}

/** The envelope that a tool's result is the text of. */
export function envelopeOf(text: string | undefined): { readonly [field: string]: unknown } {
  if (!text?.startsWith("{")) return { no_envelope: text };
  return JSON.parse(text);
}

/** Names of the tools that a request offers. */
export function toolsIn(request: SeenRequest | undefined): readonly string[] {
  return (request?.body.tools ?? []).map((tool) => tool.function.name);
}

/** Pi lends its model `bash`; sub-calls of these tests have no tool that writes. */
function isTurn(request: SeenRequest): boolean {
  return toolsIn(request).some((name) => name === "bash" || name === "ipython");
}

/** A root model has one tool. */
function isRootTurn(request: SeenRequest): boolean {
  const [tool, ...others] = toolsIn(request);
  return tool === "rlm_exec" && others.length === 0;
}

/** The next cell of an ask, by how many the conversation has already. */
function cellOf({ index, body: { messages } }: SeenRequest, asks: ReadonlyMap<string, readonly string[]>) {
  const first = textOf(messages.find(({ role }) => role === "user")?.content);
  const [, cells = []] = [...asks].find(([question]) => first.startsWith(question)) ?? [];
  const code = cells[messages.filter(({ role }) => role === "assistant").length];
  return code === undefined
    ? { text: "no cell was planned" }
    : { tools: [{ id: `cell_${index}`, name: "rlm_exec", arguments: { code } }] };
}

function isSummary({ body }: SeenRequest): boolean {
  return textOf(body.messages.at(-1)?.content).includes("</conversation>");
}

function turnOf(
  request: SeenRequest,
  plans: ReadonlyMap<string, readonly PlannedTurn[]>,
  callId: string | undefined,
): ScriptedAnswer {
  const { messages } = request.body;
  const at = messages.findLastIndex(({ role, content }) => role === "user" && plans.has(textOf(content)));
  const prompt = textOf(messages[at]?.content);
  const taken = messages.slice(at + 1).filter(({ role }) => role === "assistant").length;
  const turn = at < 0 ? undefined : plans.get(prompt)?.[taken];
  if (!turn) return { text: closingText(prompt) };
  const calls = "tool" in turn ? [turn] : turn;
  return {
    tools: calls.map(({ tool, args }, n) => ({
      ...{ id: callId ?? `call_${request.index}_${n}`, name: tool, arguments: args },
    })),
  };
}

/** The text of a message's content, in either of its forms. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  const parts: readonly { readonly text?: string }[] = Array.isArray(content) ? content : [];
  return parts.map(({ text = "" }) => text).join("");
}

function satisfied(holds: () => boolean, watchers: Set<() => void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => end(() => reject(new Error(`no such request: ${holds}`))), NEVER_MS);
    const end = (settle: () => void) => {
      clearTimeout(timer);
      watchers.delete(look);
      settle();
    };
    const look = () => {
      if (holds()) end(resolve);
    };
    watchers.add(look);
    look();
  });
}
