import type { Component } from "@mariozechner/pi-tui";
import { elapsed } from "../../platform/figures.ts";
import { memoize } from "../../platform/memoize.ts";
import { isStopped } from "../externalize/message.ts";
import { fromHost } from "../host.ts";
import type { ProgressDetails, RunningState } from "../runs/board.ts";
import {
  type Answer,
  type Envelope,
  readAnswer,
  readArguments,
  type ShownArguments,
  type ShownResult,
  subject,
  textOf,
} from "./answer.ts";
import { answered, asked, unread } from "./body.ts";
import { outcome, progress } from "./summary.ts";
import { dotted, type Highlight, harmless, oneLine, type Paint } from "./texts.ts";

/**
 * The state that the two renderers of one call share: the call is drawn first, and its line shows
 * the result.
 */
export interface RowState {
  shown?: Shown;
}

/** The facts that Pi gives a renderer, as far as they are used. */
interface RowContext {
  readonly args: unknown;
  readonly toolCallId: string;
  readonly state: RowState;
  /** Folder of the project. */
  readonly cwd: string;
  readonly expanded: boolean;
  readonly isError: boolean;
}

/** Facts of calls in addition to those that Pi gives the renderers, such as recovery. */
export interface KnownCalls {
  /** ms since the epoch. */
  now(): number;
  /** The call, if it is the one that runs. */
  running(toolCallId: string): RunningState | null;
  /** The result that replaces the lost one. */
  result(toolCallId: string): ShownResult | null;
}

/**
 * Draws calls of one tool in Pi's conversation: one line for a call, with its suggestion if it
 * failed, and everything if Pi's tools are expanded.
 */
export function rowRenderers(tool: string, highlight: Highlight, known: KnownCalls) {
  return {
    renderCall(given: unknown, paint: Paint, context: Omit<RowContext, "args">): Component {
      const { toolCallId, state, cwd, expanded } = context;
      const args = readArguments(given);
      return {
        // Drawn when both renderers have been called: the result is in the state then.
        render(width) {
          const lost = state.shown ? null : lateResult(known, toolCallId);
          const line = headline(tool, args, state.shown ?? lost ?? undefined, { cwd, paint, now: known.now() });
          const rest = lost ? under(args, lost, { expanded, isError: false }, paint, highlight) : "";
          return [cut(line, width), ...(rest === "" ? [] : block(rest).render(width))];
        },
        invalidate() {},
      };
    },
    renderResult(
      result: ShownResult,
      { expanded, isPartial }: { readonly expanded: boolean; readonly isPartial: boolean },
      paint: Paint,
      { args, state, isError, toolCallId }: RowContext,
    ): Component {
      const real = isStopped({ role: "toolResult", ...result }) ? known.result(toolCallId) : null;
      const shown = isPartial ? shownProgress(result) : shownResult(real ?? result);
      state.shown = shown;
      const text = under(readArguments(args), shown, { expanded, isError }, paint, highlight);
      return text === "" ? NOTHING : block(text);
    },
  };
}

/** A whole reset would also end the ground that Pi gives the row. */
function cut(line: string, width: number): string {
  return fromHost("pi-tui", "truncateToWidth")(line, width, "…").replaceAll("\u001b[0m", "\u001b[22;39m");
}

function block(text: string): Component {
  return new (fromHost("pi-tui", "Text"))(text, 0, 0);
}

const NOTHING: Component = { render: () => [], invalidate() {} };

/** The late result of a call that Pi shows without one. */
function lateResult({ running, result }: KnownCalls, toolCallId: string): Shown | null {
  const now = running(toolCallId);
  if (now) return { kind: "running", running: now };
  const found = result(toolCallId);
  return found && shownLate(found);
}

/** A result is read once: a terminal is drawn often. */
const shownLate = memoize(shownResult);

/** The part of a row that is shown in addition to a call's arguments. */
type Shown =
  | { readonly kind: "running"; readonly running: RunningState | null }
  | { readonly kind: "answer"; readonly answer: Answer }
  /** None of our envelopes: Pi's own words. */
  | { readonly kind: "text"; readonly text: string };

function shownResult(result: ShownResult): Shown {
  const answer = readAnswer(result);
  return answer ? { kind: "answer", answer } : { kind: "text", text: textOf(result) };
}

/** Details of a partial result. Pi never stores those, so this process made it. */
function shownProgress({ details }: ShownResult): Shown {
  return { kind: "running", running: isProgress(details) ? details.running : null };
}

/**
 * The line of a call: `rlm_exec · 12 lines · 42 matches · 3 sub-calls · 1.2 s · $0.004`.
 *
 * @param cwd folder of the project
 * @param now ms since the epoch
 */
function headline(
  tool: string,
  args: ShownArguments,
  shown: Shown | undefined,
  { cwd, paint, now }: { readonly cwd: string; readonly paint: Paint; readonly now: number },
): string {
  const name = paint.fg("toolTitle", paint.bold(tool));
  const about = subject(args, cwd).map((part) => paint.fg("accent", part));
  return dotted([name, ...about, ...(shown ? end(shown, paint, now) : [])], paint);
}

function end(shown: Shown, paint: Paint, now: number): string[] {
  const quiet = (parts: readonly string[]) => parts.map((part) => paint.fg("muted", part));
  switch (shown.kind) {
    case "running":
      return quiet(shown.running ? runningParts(shown.running, now) : []);
    case "answer": {
      const { envelope } = shown.answer;
      return [...(envelope.success ? [] : [paint.fg("error", failure(envelope))]), ...quiet(outcome(shown.answer))];
    }
    case "text":
      return [];
  }
}

/** `js_error: TypeError: x is not a function` */
function failure({ error_code, error_message }: Envelope): string {
  return [error_code, oneLine(error_message, 200)].filter((part) => part !== "").join(": ") || "failed";
}

/** A cell that only computes has no progress to show but its time. */
function runningParts(running: RunningState, now: number): string[] {
  return [`${running.phase} ${elapsed(now - running.started_at)}`, ...progress(running)];
}

/** The lines under a row: for a failure the cure, and everything if Pi's tools are expanded. */
function under(
  args: ShownArguments,
  shown: Shown,
  { expanded, isError }: { readonly expanded: boolean; readonly isError: boolean },
  paint: Paint,
  highlight: Highlight,
): string {
  const whole = expanded ? [asked(args, highlight, paint), body(shown, paint)] : [];
  const refused = !expanded && isError && shown.kind === "text" ? [paint.fg("error", harmless(shown.text))] : [];
  return [...hints(shown, paint), ...whole, ...refused].filter((part) => part !== "").join("\n");
}

function hints(shown: Shown, paint: Paint): string[] {
  if (shown.kind !== "answer" || shown.answer.envelope.success) return [];
  const { suggestion } = shown.answer.envelope;
  return suggestion === "" ? [] : [paint.fg("muted", `  ${harmless(suggestion)}`)];
}

function body(shown: Shown, paint: Paint): string {
  if (shown.kind === "answer") return answered(shown.answer, paint);
  return shown.kind === "text" ? unread(shown.text, paint) : "";
}

function isProgress(details: unknown): details is ProgressDetails {
  return typeof details === "object" && details !== null && "running" in details && typeof details.running === "object";
}
