import { elapsed } from "../../platform/figures.ts";
import type { RunningState } from "../runs/board.ts";
import type { ProgressDetails } from "../runs/details.ts";
import { type Answer, readAnswer, type ShownResult, textOf } from "./answer.ts";
import { type ShownArguments, subject } from "./arguments.ts";
import { answered, asked, unread } from "./body.ts";
import { dotted, type Highlight, type Paint } from "./paint.ts";
import { failure, outcome, progress } from "./summary.ts";
import { harmless } from "./texts.ts";

/** The part of a row that is shown in addition to a call's arguments. */
export type Shown =
  | { readonly kind: "running"; readonly running: RunningState | null }
  | { readonly kind: "answer"; readonly answer: Answer }
  /** None of our envelopes: Pi's own words. */
  | { readonly kind: "text"; readonly text: string };

export function shownResult(result: ShownResult): Shown {
  const answer = readAnswer(result);
  return answer ? { kind: "answer", answer } : { kind: "text", text: textOf(result) };
}

/** Details of a partial result. Pi never stores those, so this process made it. */
export function shownProgress({ details }: ShownResult): Shown {
  return { kind: "running", running: isProgress(details) ? details.running : null };
}

/**
 * The line of a call: `rlm_exec · 12 lines · 42 matches · 3 sub-calls · 1.2 s · $0.004`.
 *
 * @param cwd folder of the project
 * @param now ms since the epoch
 */
export function headline(
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

/** A cell that only computes has no progress to show but its time. */
function runningParts(running: RunningState, now: number): string[] {
  return [`${running.phase} ${elapsed(now - running.started_at)}`, ...progress(running)];
}

/** The lines under a row: for a failure the cure, and everything if Pi's tools are expanded. */
export function under(
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
