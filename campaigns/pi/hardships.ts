import type { PiFault } from "../../tests/support/pi/fault.ts";
import { entriesIn, type Pi } from "../../tests/support/pi/process.ts";

/** What a conversation has gone through when its facts are looked for. */
export type Hardship = "the talk" | "a compaction" | "a fork" | "a restart" | "a kill at an epoch";

export const HARDSHIPS: readonly Hardship[] = ["the talk", "a compaction", "a fork", "a restart", "a kill at an epoch"];

/** What hardships need of the conversation. */
export interface Ground {
  /** Another process that goes on with the session. */
  start(session: string): Pi;
  /** Has one more turn. */
  turn(pi: Pi): Promise<void>;
}

/** Lets one of them happen. Answers the process that has the conversation from then on. */
export function undergo(hardship: Hardship, pi: Pi, ground: Ground): Promise<Pi> {
  return HAPPENING[hardship](pi, ground);
}

const HAPPENING: { readonly [hardship in Hardship]: (pi: Pi, ground: Ground) => Promise<Pi> } = {
  "the talk": async (pi) => pi,

  async "a compaction"(pi) {
    await pi.ask("compact");
    return pi;
  },

  async "a fork"(pi) {
    const prompts = entriesIn(await pi.sessionFile()).filter(({ message }) => message?.role === "user");
    await pi.ask("fork", { entryId: prompts.at(-1)?.id });
    return pi;
  },

  async "a restart"(pi, { start }) {
    const session = await pi.sessionFile();
    await pi.kill();
    return start(session);
  },

  async "a kill at an epoch"(pi, { start, turn }) {
    const session = await pi.sessionFile();
    const fault: PiFault = { at: "entry", record: "rlm_externalize", side: "after" };
    await pi.prompt(`/fault ${JSON.stringify(fault)}`);
    const ended = pi.ended.then(() => false);
    const isAlive = () =>
      Promise.race([
        ended,
        turn(pi).then(
          () => true,
          () => ended,
        ),
      ]);
    while (await isAlive());
    return start(session);
  },
};
