import type { Jobs, RunRow } from "./jobs/port.ts";
import type { SessionPage, SessionRow, Store } from "./port.ts";

const PAGE = 500;

/**
 * Every session but children, the one changed last first. Whoever stops early reads no further page. One that is changed meanwhile
 * comes to the front, and is left out if its page was still to be read.
 * @param without ids that are left out
 */
export async function* everySession(
  { list }: Pick<Store, "list">,
  without: readonly string[] = [],
): AsyncGenerator<SessionRow, void, undefined> {
  let after: SessionPage["after"] = null;
  for (;;) {
    const page: readonly SessionRow[] = await list({ after, limit: PAGE, without });
    yield* page;
    const last = page.at(-1);
    if (!last || page.length < PAGE) return;
    after = { id: last.id, changed_at: last.changed_at };
  }
}

/** Every run, the newest first. Whoever stops early reads no further page. @param without ids that are left out */
export async function* everyRun(
  jobs: Pick<Jobs, "runs">,
  without: readonly string[] = [],
): AsyncGenerator<RunRow, void, undefined> {
  for (let after: string | null = null; ; ) {
    const page: readonly RunRow[] = await jobs.runs({ after, limit: PAGE, without });
    yield* page;
    after = page.at(-1)?.id ?? null;
    if (page.length < PAGE) return;
  }
}
