import type { Component, TUI } from "@mariozechner/pi-tui";
import { amount, compact, elapsed } from "../../platform/figures.ts";
import { sourcesOf } from "../../platform/ids.ts";
import { fromHost } from "../host.ts";
import type { State, StateBoard } from "../runs/board.ts";
import { outsideParts, progress } from "./summary.ts";
import { dotted, type Paint } from "./texts.ts";

/** The place of a widget: Pi's `ctx.ui`, which shows it in a terminal and ignores it elsewhere. */
interface WidgetPlace {
  setWidget(
    key: string,
    content: ((tui: Pick<TUI, "requestRender">, paint: Paint) => Component & { dispose(): void }) | undefined,
    options?: { placement: "belowEditor" },
  ): void;
}

/** Time as the widget needs it. */
interface WidgetClock {
  /** ms since the epoch. */
  now(): number;
  /**
   * Calls again and again, that many ms apart, until what it gives is called; does not keep the
   * process alive.
   */
  every(ms: number, work: () => void): () => void;
}

const KEY = "rlm";
/** The seconds continue while all sub-calls are waited for. */
const TICK_MS = 1000;

/**
 * Shows one line below the editor: what runs, or quietly what is there; no line if RLM was not
 * used.
 *
 * @returns ends it, and takes the line away
 */
export function showWidget(
  board: Pick<StateBoard, "current" | "subscribe">,
  place: WidgetPlace,
  clock: WidgetClock,
): () => void {
  let redraw: (() => void) | null = null;
  let stopTicking: (() => void) | null = null;

  function rest(): void {
    stopTicking?.();
    stopTicking = null;
  }

  function follow(state: State): void {
    if (state.running && !stopTicking) stopTicking = clock.every(TICK_MS, () => redraw?.());
    if (!state.running) rest();
    const isShown = widgetLine(state, clock.now(), PLAIN) !== null;
    if (isShown && redraw) redraw();
    else if (isShown) mount();
    else if (redraw) place.setWidget(KEY, undefined);
  }

  function mount(): void {
    // Pi without a terminal never calls this back.
    place.setWidget(
      KEY,
      (tui, paint) => {
        const own = () => tui.requestRender();
        redraw = own;
        return {
          render(width) {
            const line = widgetLine(board.current(), clock.now(), paint);
            return line === null ? [] : [fromHost("pi-tui", "truncateToWidth")(` ${line}`, width, "…")];
          },
          invalidate() {},
          dispose() {
            if (redraw === own) redraw = null;
          },
        };
      },
      { placement: "belowEditor" },
    );
  }

  const leave = board.subscribe(follow);
  follow(board.current());
  return () => {
    leave();
    rest();
    if (redraw) place.setWidget(KEY, undefined);
  };
}

const PLAIN: Paint = { fg: (_colour, text) => text, bold: (text) => text };

/** The line; null if there is nothing to say. @param now ms since the epoch */
export function widgetLine(state: State, now: number, paint: Paint): string | null {
  const { running, context, checkpoints, conversation } = state;
  if (running) {
    const { tool, phase, started_at } = running;
    const what = `${tool} ${phase} ${elapsed(now - started_at)}`;
    const parts = progress(running).map((part) => paint.fg("muted", part));
    return dotted([`${paint.fg("accent", "●")} ${paint.fg("text", what)}`, ...parts], paint);
  }
  const isUsed = context !== null || checkpoints > 0;
  return isUsed || conversation !== null ? paint.fg("dim", idleParts(state, isUsed).join(" · ")) : null;
}

function idleParts({ enabled, context, checkpoints, conversation }: State, isUsed: boolean): string[] {
  const held = context ? [sourcesOf(context.sources), `${compact(context.chars)} characters`] : ["no context"];
  const used = isUsed ? [...held, amount(checkpoints, "checkpoint")] : [];
  return [enabled ? "rlm" : "rlm off", ...used, ...(conversation ? outsideParts(conversation) : [])];
}
