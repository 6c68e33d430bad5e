import { RlmError } from "../../index.ts";
import { queueFigures, type TicketCounts } from "../../jobs/index.ts";
import { amount } from "../../platform/figures.ts";
import { lookAtServer, type ServerFacts } from "../../store/index.ts";
import { inFlags } from "../render/wording.ts";
import type { Check } from "./doctor.ts";

type Found = Omit<Check, "name">;

/** Checks that the server of a store can be used, and that its data is safe there. */
export async function checkServer(url: string): Promise<Found> {
  try {
    return judged(await lookAtServer(url));
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    return { state: "failed", detail: error.message, cure: inFlags(error.suggestion) };
  }
}

/** Checks the queue beside the store, and the tickets in it. A store without runs needs none. */
export async function checkQueue(url: string): Promise<Found> {
  try {
    const figures = await queueFigures(url);
    if (!figures) return { state: "ok", detail: "it will be made by the first run" };
    const queues = figures.queues.map(ticketsText);
    return {
      state: "ok",
      detail: [
        `pg-boss's schema ${figures.schemaVersion}${queues.length > 0 ? "; its counts may be a minute old" : ""}`,
        ...queues,
      ].join("\n"),
    };
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    return { state: "warning", detail: error.message, cure: inFlags(error.suggestion) };
  }
}

const ticketsText = ({ queue, waiting, active, dead }: TicketCounts) =>
  `queue ${queue}: ${amount(waiting, "ticket waits", "tickets wait")}, ${active} active, ${dead} dead`;

function judged(facts: ServerFacts): Found {
  const { name, schema, version, server } = facts;
  const store = version === 0 ? `the schema ${schema} will be made when it is needed` : `schema ${schema} ${version}`;
  const detail = `${name}, PostgreSQL ${server}, ${store}`;
  if (Number.parseInt(server, 10) < OLDEST_SERVER) {
    return { state: "failed", detail, cure: `use PostgreSQL ${OLDEST_SERVER} or newer` };
  }
  if (!facts.mayWrite) {
    const wanted = version === 0 ? "CREATE ON DATABASE …" : `USAGE ON SCHEMA ${schema}`;
    return { state: "failed", detail: `${detail}: the user may not use it`, cure: `GRANT ${wanted} TO the user` };
  }
  const worries = WORRIES.filter(({ isMeant }) => isMeant(facts));
  if (worries.length === 0) return { state: "ok", detail };
  return {
    state: "warning",
    detail: [detail, ...worries.map(({ what }) => what)].join("\n"),
    cure: worries.map(({ cure }) => cure).join("; "),
  };
}

const OLDEST_SERVER = 14;

const WORRIES = [
  {
    isMeant: ({ fsync }: ServerFacts) => !fsync,
    what: "fsync=off: a power cut can take what was committed, and damage the rest",
    cure: "set fsync = on in postgresql.conf",
  },
  {
    isMeant: ({ isOpenToOthers }: ServerFacts) => isOpenToOthers,
    what: "the connection leaves this machine without TLS: others on the way can read what is kept",
    cure: "add sslmode=verify-full to the URL",
  },
] as const;
