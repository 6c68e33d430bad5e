import { redacted, redactedIn } from "../../platform/redact.ts";
import type { Store } from "../../store/index.ts";
import type { CallDescription, ExecDescription, SessionDescription } from "../api.ts";
import { describeSession, type WalkedCall, type WalkedExec, type WalkedSession, walk } from "../describe.ts";
import type { Collector } from "./otlp.ts";
import { attributes, fraction, type SpanPlace, spanId, traceId, type Value } from "./otlp.ts";

/** A session whose spans are wanted. */
export interface Exporting {
  readonly session: SessionDescription;
  /**
   * The exec after which it was forked, where it ran; null if it is no fork, or if nothing tells.
   */
  readonly forkedAfter: { readonly session: string; readonly exec_id: string } | null;
  /** Prompts and answers are in the spans. */
  readonly texts: boolean;
  /**
   * Ids of asks, and of execs without one: only their traces. Default:
   * all, also of what is not over.
   */
  readonly only?: ReadonlySet<string>;
}

/** The children whose spans are among those of a session. */
const CHILDREN = 1000;

/** A stored session as spans need it. @throws as `describeSession` */
export async function exportingOf(store: Store, id: string, env: Collector["env"]): Promise<Exporting> {
  const session = await describeSession(store, id, { children: CHILDREN, partly: true });
  const { forked_from } = session;
  // Its checkpoint may be dropped or damaged by now.
  const forkedAfter = forked_from === null ? null : await store.checkpoint(forked_from).catch(() => null);
  return { session, forkedAfter, texts: env[CAPTURE]?.toLowerCase() === "true" };
}

/** The spans of a session and of those that answer its calls, each after the one above it. */
export function* spansOf({ session, forkedAfter, texts, only }: Exporting): Generator<object> {
  let links = forkedAfter ? [placeOf(forkedAfter, session)] : [];
  const isLeftOut = (step: WalkedExec): boolean =>
    isCopied(step.in.session, step.exec.ended_at) ||
    (only !== undefined && step.in.call === null && !only.has(topOf(step).exec_id));
  const calls = (step: WalkedExec) =>
    isLeftOut(step) ? [] : step.exec.calls.filter(({ ended_at }) => !isCopied(step.in.session, ended_at));
  /**
   * The span of an exec, or of what is above it: a turn has none of its
   * own, and an ask may be left out.
   */
  const spanOf = (step: WalkedExec): SpanPlace | null => {
    if (step.exec.kind !== "turn") return isLeftOut(step) ? spanAround(step.in) : execPlace(step);
    return step.above ? spanOf(step.above) : spanAround(step.in);
  };
  const spanAround = ({ call }: WalkedSession): SpanPlace | null => call && callPlace(call);

  for (const step of walk(session, { calls })) {
    if (step.is !== "call" && (step.is !== "exec" || step.exec.kind === "turn" || isLeftOut(step))) continue;
    const above = step.is === "call" ? spanOf(step.of) : step.above ? spanOf(step.above) : spanAround(step.in);
    const span = step.is === "call" ? callSpan(step, above, texts) : execSpan(step, above, texts);
    yield links.length > 0 ? { ...span, links } : span;
    links = [];
  }
}

/** True for what had ended when the session was forked: it is its parent's. */
function isCopied({ forked_from, created_at }: SessionDescription, ended_at: number | null): boolean {
  return forked_from !== null && ended_at !== null && ended_at <= created_at;
}

/** The span of the exec after which a session was forked. */
function placeOf({ session: id, exec_id }: NonNullable<Exporting["forkedAfter"]>, fork: SessionDescription): SpanPlace {
  const copied = walk(fork, { calls: () => [] }).find((step) => step.is === "exec" && step.exec.exec_id === exec_id);
  const top = copied?.is === "exec" ? topOf(copied).exec_id : exec_id;
  return { traceId: traceId(id, top), spanId: spanId("exec", id, exec_id) };
}

/** The exec that a person asked for: this one, or the ask that it is a part of. */
function topOf({ exec, above }: WalkedExec): ExecDescription {
  let top = exec;
  for (let up = above; up; up = up.above) top = up.exec;
  return top;
}

/** The trace of an exec: that of the call that its session answers, or its own. */
function traceOf(step: WalkedExec): string {
  let top = step;
  while (top.in.call) top = top.in.call.of;
  return traceId(top.in.session.id, topOf(top).exec_id);
}

function execPlace(step: WalkedExec): SpanPlace {
  return { traceId: traceOf(step), spanId: spanId("exec", step.in.session.id, step.exec.exec_id) };
}

function callPlace({ of, call }: WalkedCall): SpanPlace {
  return { traceId: traceOf(of), spanId: spanId("call", of.in.session.id, call.call_id) };
}

const placed = ({ traceId, spanId }: SpanPlace, above: SpanPlace | null) => ({
  traceId,
  ...(above ? { parentSpanId: above.spanId } : {}),
  spanId,
});

const MOST_MS = 9e12;

function execSpan(step: WalkedExec, above: SpanPlace | null, texts: boolean): object {
  const { exec } = step;
  const { kind, number, status, began_at, resumed, resumes, ask } = exec;
  const isAsk = kind === "ask";
  const tool = kind === "cell" ? "rlm_exec" : `rlm_${kind}`;
  const values: Record<string, Value> = {
    [NAMES.operation]: isAsk ? AGENT : TOOL,
    [NAMES.conversation]: step.in.session.id,
    ...(isAsk ? { [NAMES.agent]: "belay" } : { [NAMES.tool]: tool, [NAMES.toolType]: "function" }),
    ...(isAsk ? { "belay.cost_usd": fraction(exec.cost_usd) } : {}),
    "belay.exec": number,
    "belay.resumed": resumed || null,
    "belay.unfinished": status === "unfinished",
    ...(texts && ask ? texted(ask.question, status === "ok" ? ask.answer : null) : {}),
  };
  const events = resumes.slice(-MOST_EVENTS).map(({ gap_ms, replayed, resent, ...resume }) => ({
    timeUnixNano: nano(resume.at),
    name: "belay.resume",
    attributes: attributes({ "belay.gap_ms": gap_ms, "belay.replayed": replayed, "belay.resent": resent }),
  }));
  return {
    ...placed(execPlace(step), above),
    name: isAsk ? `${AGENT} belay` : `${TOOL} ${tool}`,
    kind: 1,
    ...lasting(began_at, exec.ended_at ?? lastRecord(exec)),
    ...outcome(values, status === "failed" ? (exec.error_code ?? OTHER) : null),
    ...(events.length > 0 ? { events } : {}),
  };
}

/** Nanoseconds since the epoch. A store may hold any number, and OTLP takes 64 bits. */
function nano(ms: number): string {
  const whole = Math.min(Math.max(0, Math.round(ms) || 0), MOST_MS);
  return whole === 0 ? "0" : `${whole}000000`;
}

/** The most events that a span of OpenTelemetry's own has. */
const MOST_EVENTS = 128;

function callSpan(step: WalkedCall, above: SpanPlace | null, texts: boolean): object {
  const { call, of } = step;
  const { exec } = of;
  const { call_id, status, sent_at, asked_at, attempts, resent, cached, refused, batch, delivery } = call;
  const { mended, ignored, reused, by_hand, usage } = call;
  const [, provider = "", model = ""] = /^(?:(.*?)\/)?(.*)$/s.exec(call.model) ?? [];
  const isChild = call.child !== null;
  // A call that a resume sent again would reach over the time without a process.
  const isOnce = resent === 0 && !delivery && sent_at !== null;
  const values: Record<string, Value> = {
    [NAMES.operation]: isChild ? AGENT : CHAT,
    [NAMES.conversation]: of.in.session.id,
    ...(isChild ? { [NAMES.agent]: "belay" } : modelled(call, provider, model)),
    "belay.cost_usd": fraction(call.cost_usd),
    "belay.call_id": call_id,
    "belay.label": call.label,
    "belay.phase": call.phase,
    "belay.queued_ms": isOnce ? Math.max(0, sent_at - asked_at) : null,
    "belay.retries": attempts || null,
    "belay.resent": resent || null,
    "belay.batch": batch,
    "belay.cached": cached,
    "belay.reused": reused !== undefined,
    "belay.by_hand": by_hand,
    "belay.mended": mended.join(", "),
    "belay.ignored": ignored.join(", "),
    "belay.estimated_tokens": isChild ? null : usage.estimated || null,
    "belay.refused": refused,
    "belay.unfinished": status === "pending",
    ...(texts ? textsOf(call, exec) : {}),
  };
  const start = isOnce ? sent_at : lastSending(call, exec);
  return {
    ...placed(callPlace(step), above),
    name: isChild ? `${AGENT} belay` : [CHAT, model].join(" ").trim(),
    kind: isChild ? 1 : 3,
    ...lasting(start, call.ended_at ?? exec.ended_at ?? lastRecord(exec)),
    ...outcome(values, status === "failed" ? (call.error_code ?? OTHER) : null),
  };
}

/** The error type of the conventions for a failure without a code. */
const OTHER = "_OTHER";

/** When it was sent for the last time, as far as the records tell. */
function lastSending({ ended_at, time_ms, resent, sent_at, asked_at }: CallDescription, exec: ExecDescription): number {
  if (resent === 0) return sent_at ?? asked_at;
  return ended_at !== null && time_ms !== null ? ended_at - time_ms : (exec.resumes.at(-1)?.at ?? asked_at);
}

/** The time of the last record that tells of an exec which is not over. */
function lastRecord({ began_at, calls, resumes }: ExecDescription): number {
  const last = calls.reduce((at, call) => Math.max(at, call.asked_at, call.ended_at ?? 0), began_at);
  return Math.max(last, resumes.at(-1)?.at ?? 0);
}

/**
 * The model and its tokens. As in the conventions, those from the
 * provider's cache are among the input.
 */
function modelled({ usage }: CallDescription, provider: string, model: string): Record<string, Value> {
  return {
    [NAMES.provider]: provider,
    [NAMES.model]: model,
    [NAMES.input]: usage.input + usage.cache_read + usage.cache_write,
    [NAMES.output]: usage.output,
    [NAMES.cacheRead]: usage.cache_read || null,
    [NAMES.cacheWrite]: usage.cache_write || null,
  };
}

/** The answer to a call that failed is an error message, which no span has. */
function textsOf({ prompt, answer, status }: CallDescription, { turn }: ExecDescription): Record<string, Value> {
  return turn ? texted(turn.messages.join("\n"), turn.text) : texted(prompt, status === "ok" ? answer : null);
}

const MOST_MESSAGE_BYTES = 16 * 1024;

const texted = (asked: string | null, answered: unknown) => ({
  [NAMES.asked]: message("user", asked),
  [NAMES.answered]: message("assistant", answered),
});

/**
 * A message as the conventions write it, without keys: at most 16 KB of
 * its text. null: there is none.
 */
function message(role: "user" | "assistant", given: unknown) {
  if (given === null || given === "") return null;
  const whole = typeof given === "string" ? redacted(given) : JSON.stringify(redactedIn(given));
  const bytes = Buffer.from(whole.slice(0, MOST_MESSAGE_BYTES)).subarray(0, MOST_MESSAGE_BYTES);
  // A stream may continue, so a character that is cut in half is left out.
  const content = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: true });
  const end = role === "assistant" ? { finish_reason: "stop" } : {};
  return { stringValue: JSON.stringify([{ role, parts: [{ type: "text", content }], ...end }]) };
}

const lasting = (start: number, end: number) => ({
  startTimeUnixNano: nano(start),
  endTimeUnixNano: nano(Math.max(start, end)),
});

const outcome = (values: Readonly<Record<string, Value>>, error: string | null) => ({
  attributes: attributes({ ...values, [NAMES.error]: error }),
  ...(error === null ? {} : { status: { code: 2, message: error } }),
});

/**
 * Names of OpenTelemetry's semantic conventions for generative AI, version 1.40.0,
 * whose status is "Development".
 */
const NAMES = {
  operation: "gen_ai.operation.name",
  conversation: "gen_ai.conversation.id",
  agent: "gen_ai.agent.name",
  tool: "gen_ai.tool.name",
  toolType: "gen_ai.tool.type",
  provider: "gen_ai.provider.name",
  model: "gen_ai.request.model",
  input: "gen_ai.usage.input_tokens",
  output: "gen_ai.usage.output_tokens",
  cacheRead: "gen_ai.usage.cache_read.input_tokens",
  cacheWrite: "gen_ai.usage.cache_creation.input_tokens",
  asked: "gen_ai.input.messages",
  answered: "gen_ai.output.messages",
  error: "error.type",
} as const;

/** The operations among those that the conventions name. */
const CHAT = "chat";
const AGENT = "invoke_agent";
const TOOL = "execute_tool";

/** The variable that lets texts into spans. */
const CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
