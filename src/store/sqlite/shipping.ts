import { leaseOfAccount } from "../rows/parcel.ts";
import { plannedShipping } from "../sql/planned.ts";
import type { Handling } from "../sql/shipping.ts";
import { sql } from "../sql/sql.ts";
import type { SyncShipping } from "../thread/methods.ts";
import type { Access } from "./session-methods.ts";

/** The store's methods for parcels and shipments. The lease of an account is a lock, as that of a session is: its fence is 0. */
export function shippingMethods({ database, leases, guard, reading }: Access, now: () => number): SyncShipping {
  const own = (): Handling => ({
    now: now(),
    holding: (account, fence) =>
      sql`SELECT 1 AS n WHERE ${fence === 0 && leases.holds(leaseOfAccount(account)) ? 1 : 0} = 1`,
  });
  return {
    ...plannedShipping<"at once">({
      reads: (plan) => reading(() => database.perform(plan(own()))),
      changes: (plan) => guard(() => database.write(() => database.perform(plan(own())))),
    }),
    "shipping.lease": (account) => guard(() => (leases.take(leaseOfAccount(account)) ? 0 : null)),
    "shipping.release": (account) => guard(() => leases.drop(leaseOfAccount(account))),
  };
}
