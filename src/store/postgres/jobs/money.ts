import { RlmError } from "../../../../runtime/errors.ts";
import { LIMITS } from "../../../../runtime/index.ts";
import { intervalOf } from "../../jobs/money.ts";
import type { Held } from "../../jobs/port.ts";
import { fieldsOfAmount } from "../../rows/jobs.ts";
import { number } from "../../rows/seal.ts";
import { checkHeld, runNotFound } from "../../sql/runs.ts";
import type { WireMethods } from "../../thread/methods.ts";
import type { Server } from "../connection.ts";
import { NOW } from "../functions.ts";

const HELD: readonly Held[] = ["held", "wait", "nanodollars", "tokens", "sub_calls"];

export function moneyMethods(server: Server) {
  return {
    async "jobs.reserve"({ run, n, call, attempt, fence, amount }) {
      const row = await server.get(
        "SELECT reserve_amount($1, $2, $3, $4, $5, $6, $7, $8) AS answer",
        ...[run, n, call, attempt, fence, ...fieldsOfAmount(amount)],
      );
      const answer = HELD.find((known) => known === row?.answer);
      if (answer === "wait") await server.perform(checkHeld(run));
      if (answer) return answer;
      throw runNotFound(run);
    },
    async "jobs.give"({ run, n, call, attempt }, spent) {
      await server.run(
        "SELECT give_amount($1, $2, $3, $4, $5, $6, $7)",
        run,
        n,
        call,
        attempt,
        ...fieldsOfAmount(spent),
      );
    },
    async "jobs.slot"({ key, perMinute }, cost) {
      const wide = intervalOf(perMinute) * cost;
      const row = await server.get("SELECT take_slot($1, $2, $3) AS ms", key, wide, LIMITS.rateWaitMs);
      if (!row)
        throw new RlmError("store_failed", "the server gave no instant of a rate", { suggestion: "Try again." });
      return number(row, "ms");
    },
    async "jobs.hush"({ key }, ms) {
      await server.run(
        `INSERT INTO rates (key, tat) VALUES ($1, ${NOW} + $2)
          ON CONFLICT (key) DO UPDATE SET tat = greatest(rates.tat, excluded.tat)`,
        ...[key, ms],
      );
    },
  } satisfies Partial<WireMethods>;
}
