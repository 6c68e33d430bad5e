import { RlmError } from "../../index.ts";
import type { Store } from "../../store/index.ts";
import { isServer, shownPlace } from "../../store-place.ts";
import type { Arguments } from "../flags/arguments.ts";
import { STORE } from "../flags/declared.ts";
import { storePlace } from "../flags/values.ts";
import type { Host } from "../host.ts";
import { openStoreIn } from "../store/opened-store.ts";

/** The store that a command about runs names. */
export interface RunStore {
  /** Folder or URL. */
  readonly place: string;
  /** A database that many processes work on. */
  readonly isServer: boolean;
  /** How people are told of it: without a password. */
  readonly shown: string;
  /** `--store …` for a line that is told; nothing if it is the usual one, or BELAY_STORE names it. */
  readonly flags: readonly string[];
}

export function runStore(args: Pick<Arguments, "get" | "isGiven">): RunStore {
  const place = storePlace(args);
  const shown = shownPlace(place);
  return { place, isServer: isServer(place), shown, flags: args.isGiven(STORE) ? ["--store", shown] : [] };
}

/** @throws RlmError `store_failed` and the like */
export async function openRunStore({ place, isServer, shown }: RunStore, host: Host): Promise<Store> {
  if (isServer) throw noQueue(shown);
  return openStoreIn(place, host, "");
}

/** Sessions are kept on a server; tickets of jobs are handed out in one process alone. */
function noQueue(shown: string): RlmError {
  return new RlmError("store_failed", `${shown}: this build runs jobs in folders alone`, {
    suggestion: "Name a folder with --store DIR.",
  });
}
