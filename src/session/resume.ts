import type { Resumed } from "./api.ts";
import { askEnvelope, factsOf } from "./ask/envelope.ts";
import { runAsk } from "./ask/loop.ts";
import { askIn } from "./ask/records.ts";
import { beginCell } from "./exec/cell.ts";
import { loadRequestOf, runLoad } from "./exec/load.ts";
import { cellRequestOf, type ExecAsked } from "./exec/request.ts";
import { runCommand } from "./exec/run-exec.ts";

import { type Account, interruptedIn, openAskIn } from "./journal/account.ts";
import { cellIn, type ExecEnvelope, envelope, queryEnvelope } from "./journal/envelope.ts";
import type { ExecRecords } from "./journal/exec-records.ts";
import type { Start } from "./journal/records.ts";
import { envelopeFacts, type SessionParts } from "./parts.ts";

/** Finishes what was interrupted, else answers with the record of what ended last; null: nothing has run. */
export async function resume(setup: SessionParts, asked: ExecAsked, trajectory: boolean): Promise<Resumed | null> {
  const { account } = setup.state();
  const open = openAskIn(account);
  const interrupted = interruptedIn(account);
  if (open || (!interrupted && isNewest(account))) {
    const answer = open
      ? await runAsk(setup, asked, { isResumed: true, trajectory })
      : askEnvelope(factsOf(setup, askIn(setup.state()), trajectory));
    return { how: open ? "finished" : "replayed", kind: "ask", envelope: answer, rest: [] };
  }
  if (interrupted) return resumed(setup, "finished", interrupted.start, await finished(setup, asked, interrupted));
  const { last } = account;
  if (!last?.complete) return null;
  const cell = cellIn(last.complete);
  return resumed(setup, "replayed", last.start, cell && envelope(cell, envelopeFacts(setup, account, false)));
}

/** True if nothing has run since the newest ask ended. */
function isNewest({ ask, last }: Account): boolean {
  return ask?.complete != null && (!last || last.start.ask === ask.start.exec_id);
}

/** Finishes an exec. Answers the envelope of its cell; null for kinds that run none. */
async function finished(setup: SessionParts, asked: ExecAsked, interrupted: ExecRecords): Promise<ExecEnvelope | null> {
  const { kind, input } = interrupted.start;
  switch (kind) {
    case "cell":
    case "query":
      return beginCell(setup, cellRequestOf(interrupted.start), asked, interrupted);
    case "load":
    case "append":
      await runLoad(setup, loadRequestOf(kind, input, setup), interrupted);
      return null;
    case "memory":
    case "helpers":
      await runCommand(setup, { kind, input }, interrupted);
      return null;
    default:
      throw new Error("an ask goes on by itself");
  }
}

function resumed(
  { state }: Pick<SessionParts, "state">,
  how: Resumed["how"],
  { kind, rest }: Start,
  answer: ExecEnvelope | null,
): Resumed {
  if (kind === "ask") throw new Error("an ask is not an exec");
  const goesOn = answer === null || answer.success;
  const skips = state().context?.stats.skipped ?? null;
  const envelope = answer && kind === "query" ? queryEnvelope(answer, skips) : answer;
  return { how, kind, envelope, rest: goesOn ? rest : [] };
}
