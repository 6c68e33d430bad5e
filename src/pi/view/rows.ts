import type { Component } from "@mariozechner/pi-tui";
import { memoize } from "../../platform/memoize.ts";
import { isStopped } from "../externalize/message.ts";
import { fromHost } from "../host-functions.ts";
import type { RunningState } from "../runs/board.ts";
import type { ShownResult } from "./answer.ts";
import { readArguments } from "./arguments.ts";
import type { Highlight, Paint } from "./paint.ts";
import { headline, type Shown, shownProgress, shownResult, under } from "./shown.ts";

/** The state that the two renderers of one call share: the call is drawn first, and its line shows the result. */
export interface RowState {
  shown?: Shown;
}

/** The facts that Pi gives a renderer, as far as they are used. */
export interface RowContext {
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
 * Draws calls of one tool in Pi's conversation: one line for a call, with its suggestion if it failed, and everything if Pi's
 * tools are expanded.
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
