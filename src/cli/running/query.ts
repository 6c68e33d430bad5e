import type { QueryFlags } from "../commands/query.ts";
import type { Arguments } from "../flags/arguments.ts";
import type { Host } from "../host.ts";
import { questionOf } from "../input/sources.ts";
import { inSession } from "../session/opening.ts";
import { openDelivery } from "./delivery.ts";
import { ending, envelopeIn, signalsOf } from "./run-cells.ts";

/** `belay query`: brings in the contexts and answers one question about them. Gives the exit code. */
export function queryCommand(args: Arguments, host: Host, own: QueryFlags): Promise<number> {
  return inSession(args, host, "query", async ({ flags, stop, report, open }) => {
    const question = questionOf(args, "query", flags);
    const asked = { kind: "query", input: question } as const;
    const opened = await open({ asked, needsModel: true });
    const { session, progress } = opened;
    const delivery = openDelivery(opened);
    const signals = { ...signalsOf(opened, stop), ...delivery.asked };
    progress.begin();
    const resumed = opened.isBegun ? await session.resume(signals) : null;
    const answer = envelopeIn(resumed) ?? (await session.query(question, { ...own, ...signals }));
    const taken = progress.end();
    return ending(answer, { rest: [], taken, opened, report, stop, written: delivery.written() }).code;
  });
}
