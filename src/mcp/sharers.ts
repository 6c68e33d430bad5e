import { CLIENT_INFO_META_KEY } from "@modelcontextprotocol/server";
import type { Clock } from "../../runtime/index.ts";
import { isRecord } from "../platform/json.ts";

/** A client of the newer era that uses a session. */
interface Sharer {
  /** The name and version that it gives itself. */
  readonly name: string;
  readonly ids: Set<unknown>;
  /** The number of its last request. */
  last: number;
  /** The time of its last call; null: it has looked around only. */
  usedAt: number | null;
}

/**
 * Tells clients of one address apart, though no request says whose it is: by the name that each bears, and by the ids of requests,
 * of which a client gives none twice.
 *
 * @param forgetMs ms without a call, after which a client counts as gone
 */
export function openSharers(clock: Clock, forgetMs: number) {
  let known: Sharer[] = [];

  /** The client that has not sent this id, and whose last one is the nearest; made if there is none. */
  function senderOf(name: string, id: unknown): Sharer {
    const number = typeof id === "number" ? id : 0;
    const distance = ({ last }: Sharer) => Math.abs(number - last);
    const [nearest] = known
      .filter((sharer) => sharer.name === name && !sharer.ids.has(id))
      .sort((one, other) => distance(one) - distance(other));
    if (nearest) return nearest;
    const sharer: Sharer = { name, ids: new Set(), last: number, usedAt: null };
    known = [...known, sharer].slice(-MOST_SHARERS);
    return sharer;
  }

  const isThere = ({ usedAt }: Sharer) => usedAt === null || clock.monotonic() - usedAt < forgetMs;

  return {
    /** Notes a request, which is not checked yet. */
    note(request: unknown): void {
      if (!isRecord(request) || request.id === undefined) return;
      known = known.filter(isThere);
      const id = typeof request.id === "string" ? request.id.slice(0, NAME_UNITS) : request.id;
      const sharer = senderOf(nameIn(request.params), id);
      sharer.ids.add(id);
      const [oldest] = sharer.ids;
      if (sharer.ids.size > MOST_IDS) sharer.ids.delete(oldest);
      if (typeof id === "number") sharer.last = id;
      if (USES.has(request.method)) sharer.usedAt = clock.monotonic();
    },
    /** The names of those who have used the session of late. */
    names: (): readonly string[] =>
      known.filter((sharer) => sharer.usedAt !== null && isThere(sharer)).map(({ name }) => name),
  };
}

const MOST_SHARERS = 32;
const MOST_IDS = 1_000;

/** Methods that work in the session. */
const USES: ReadonlySet<unknown> = new Set(["tools/call", "resources/read"]);

const NAME_UNITS = 60;

function nameIn(params: unknown): string {
  const { _meta } = isRecord(params) ? params : {};
  const { [CLIENT_INFO_META_KEY]: info } = isRecord(_meta) ? _meta : {};
  const { name = "", version = "" } = isRecord(info) ? info : {};
  return `${name} ${version}`.trim().slice(0, NAME_UNITS);
}
