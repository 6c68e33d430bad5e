import { everySession, type SessionRow, type Store } from "../../src/store/index.ts";

/** Every session of the store but children, the one changed last first. */
export const listed = (store: Pick<Store, "list">): Promise<SessionRow[]> => Array.fromAsync(everySession(store));
