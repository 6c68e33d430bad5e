import type { Context } from "../../context/index.ts";
import { keepContext } from "../contexts/contexts.ts";
import type { Machine } from "../machine/machines.ts";
import { keepEnd } from "./keep-end.ts";
import type { ExecOutcome, ExecRequest } from "./request.ts";
import { positionOf } from "./session-state.ts";
import type { Work } from "./work.ts";

/** Execs that make no calls. If the process ends within one, nothing of it is left, and it is done again. */
export async function execAtOnce(
  work: Work,
  request: Exclude<ExecRequest, { kind: "cell" | "query" | "turn" }>,
): Promise<ExecOutcome> {
  const { setup, recorder } = work;
  const { context } = recorder.state();
  const end = async (machine: Machine, after: Context | null) => {
    try {
      await keepEnd(work, machine, { context: after, fields: {}, drop: [] });
    } catch (error) {
      // The machine has what the session has not.
      await setup.guest.end();
      throw error;
    }
  };
  switch (request.kind) {
    case "load": {
      const loaded = await request.read(null);
      await keepContext(setup.env.store, loaded);
      await setup.guest.reset();
      await end(await setup.guest.use({ checkpoint: null, context: loaded, sources: [] }), loaded);
      return { kind: "load", context: loaded };
    }
    case "append": {
      const loaded = await request.read(context);
      await keepContext(setup.env.store, loaded);
      // An image is opened with the context that it was made with. Its guest is then told of the longer one.
      await setup.guest.use(positionOf(recorder.state()));
      await end(await setup.guest.use({ ...positionOf(recorder.state()), context: loaded }), loaded);
      return { kind: "append", context: loaded };
    }
    default: {
      const machine = await setup.guest.use(positionOf(recorder.state()));
      const value = await machine.sandbox.enter(request.kind, request.input);
      await end(machine, context);
      return { kind: request.kind, value };
    }
  }
}
