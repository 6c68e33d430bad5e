import { expect } from "vitest";
import { cellOf, promptOf, subCallsOf } from "./cells.ts";
import type { PiFault } from "./fault.ts";
import { type PlannedCall, resultTo } from "./model.ts";
import type { Pi } from "./process.ts";
import type { PiScene } from "./scene.ts";

/** Where a process is killed: beside a write of its own, or from outside when the server has been asked for this. */
export interface KillPoint {
  readonly by: PiFault | "its sub-calls" | "the next turn";
  /** Part of the prompts that are not answered before the process is dead. */
  readonly held?: string;
}

/** A prompt, the call that the model makes for it, and how many sub-calls that makes before the first has its answer. */
interface Task {
  readonly prompt: string;
  readonly call: PlannedCall;
  readonly subCalls: number;
}

/** The n-th cell as a task. */
export function cellTask(n: number): Task {
  return { prompt: promptOf(n), call: cellOf(n), subCalls: subCallsOf(n).length };
}

/** Gives the process a task once it has finished what the one before left undone, and waits for its death. */
export async function killedAt({ model }: PiScene, pi: Pi, point: KillPoint, task: Task): Promise<void> {
  const { by, held } = point;
  // It goes out when recovery is over.
  await pi.prompt(model.plan(`before ${task.prompt}`));
  const hold = held === undefined ? undefined : model.hold(held);
  if (typeof by === "object") await pi.prompt(`/fault ${JSON.stringify(by)}`);
  const before = model.subCalls().length;
  pi.send({ type: "prompt", message: model.plan(task.prompt, task.call) });
  if (typeof by === "string") {
    await model.until(() =>
      by === "its sub-calls"
        ? model.subCalls().length === before + task.subCalls
        : resultTo(model.turns().at(-1), task.prompt) !== undefined,
    );
    await pi.kill();
  }
  expect(await pi.ended, `${JSON.stringify(by)}\n${pi.stderr()}`).toBe("SIGKILL");
  hold?.release();
}

/** How often a sub-call was sent. */
export function timesAsked({ model }: PiScene, prompt: string): number {
  return model.subCalls().filter((text) => text === prompt).length;
}
