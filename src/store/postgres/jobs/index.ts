import type { Jobs } from "../../jobs/port.ts";
import type { WireMethods } from "../../thread/methods.ts";
import type { Server } from "../connection.ts";
import type { Leases } from "../leases.ts";
import { readingMethods } from "./jobs.ts";
import { moneyMethods } from "./money.ts";
import { runMethods } from "./runs.ts";
import { tryMethods } from "./tries.ts";

/** The store's methods for runs and their jobs. Instants are those of the server's clock. */
export function jobMethods(server: Server, leases: Leases): Pick<WireMethods, `jobs.${keyof Jobs}`> {
  return { ...runMethods(server), ...readingMethods(server), ...tryMethods(server, leases), ...moneyMethods(server) };
}
