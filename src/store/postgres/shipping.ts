import { leaseOfAccount } from "../rows/parcel.ts";
import type { Shipping } from "../shipping/port.ts";
import { plannedShipping } from "../sql/planned.ts";
import type { Handling } from "../sql/shipping.ts";
import { raw, sql } from "../sql/sql.ts";
import type { WireMethods } from "../thread/methods.ts";
import type { Server } from "./connection.ts";
import { NOW } from "./functions.ts";
import type { Leases } from "./leases.ts";

const OWN: Handling = {
  now: raw(NOW),
  holding: (account, fence) => sql`SELECT 1 AS n FROM accounts WHERE id = ${account} AND fence = ${fence} FOR SHARE`,
};

/** The store's methods for parcels and shipments. Instants are those of the server's clock. */
export function shippingMethods(server: Server, leases: Leases): Pick<WireMethods, `shipping.${keyof Shipping}`> {
  return {
    ...plannedShipping<"later">({
      reads: (plan) => server.read((one) => one.perform(plan(OWN))),
      changes: (plan) => server.write((one) => one.perform(plan(OWN))),
    }),
    "shipping.lease": (account) => leases.takeAccount(leaseOfAccount(account), account),
    "shipping.release": (account) => leases.release(leaseOfAccount(account)),
  };
}
