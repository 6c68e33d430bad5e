import type { DueJob, Jobs } from "../store/index.ts";

/** Jobs that should be tried, page by page, the first by rank first. */
export async function* dueJobs(
  jobs: Pick<Jobs, "due">,
  queue: string,
  { overdueMs, most = Number.POSITIVE_INFINITY }: { readonly overdueMs: number; readonly most?: number },
): AsyncGenerator<DueJob> {
  let after: DueJob | null = null;
  for (let given = 0; given < most; ) {
    const page: readonly DueJob[] = await jobs.due({ queue, after, limit: Math.min(PAGE, most - given), overdueMs });
    yield* page;
    given += page.length;
    after = page.at(-1) ?? null;
    if (page.length < PAGE) return;
  }
}

const PAGE = 1000;
