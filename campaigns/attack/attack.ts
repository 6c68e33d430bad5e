import type { Session } from "../../src/index.ts";
import type { Stage } from "./stage.ts";

/** Something hostile, with what is expected of it. */
export interface Attack {
  readonly id: string;
  readonly class: string;
  readonly title: string;
  /**
   * Does it, and rejects with what is not as expected. Answers the session in which the next cell must be right; null: a new one.
   */
  run(stage: Stage): Promise<Session | null>;
}

/** The surroundings of a listed case that is no cell, with what is looked at. */
export type SetUp = (stage: Stage) => Promise<void>;
