import { RlmError } from "../../index.ts";
import type { SessionRow, Store } from "../../store/index.ts";

/** A session that the user names, and what may follow it: `SESSION@CHECKPOINT`. */
export interface Meant {
  readonly session: string;
  readonly checkpoint: string | null;
}

/**
 * The session that a name means: `RUN/ID` means that of a job, since names of sessions have no slash.
 *
 * @throws RlmError `run_not_found`, `session_not_found`
 */
export async function sessionMeant(store: Store, name: string): Promise<string> {
  const at = name.indexOf("/");
  if (at === -1) return name;
  const session = await sessionOfJob(store, name.slice(0, at), name.slice(at + 1));
  if (session) return session.id;
  throw new RlmError(
    "session_not_found",
    `the run ${name.slice(0, at)} has no job ${JSON.stringify(name.slice(at + 1))}`,
    {
      suggestion: `\`belay jobs ${name.slice(0, at)}\` lists its jobs.`,
    },
  );
}

/** As `sessionMeant`, of a name with a checkpoint behind its last `@`. The id of a job may have that character too. */
export async function checkpointMeant(store: Store, name: string): Promise<Meant> {
  if (!name.includes("/")) {
    const [, session = "", checkpoint] = /^(@last|[^@]*)(?:@(.*))?$/s.exec(name) ?? [];
    return { session, checkpoint: checkpoint || null };
  }
  const at = name.lastIndexOf("@");
  const run = name.slice(0, name.indexOf("/"));
  const whole = await sessionOfJob(store, run, name.slice(run.length + 1));
  if (whole?.head === null) throw noImages(name);
  if (whole || at === -1) return { session: whole?.id ?? (await sessionMeant(store, name)), checkpoint: null };
  return { session: await sessionMeant(store, name.slice(0, at)), checkpoint: name.slice(at + 1) || null };
}

function noImages(name: string): RlmError {
  return new RlmError(
    "checkpoint_not_found",
    `${name} has no checkpoint: it was not begun, or its images went when it was done`,
    {
      suggestion: "Run the jobs with --keep-sessions.",
    },
  );
}

/** null: the run has no such job. @throws RlmError `run_not_found`, `session_not_found` if the job was not begun */
async function sessionOfJob({ jobs, find }: Store, name: string, id: string): Promise<SessionRow | null> {
  const run = await jobs.run(name);
  if (!run) {
    throw new RlmError("run_not_found", `the store has no run ${name}`, { suggestion: "`belay jobs` lists the runs." });
  }
  const job = await jobs.find(run.id, id);
  if (!job) return null;
  const session = await find(job.session);
  if (session) return session;
  const why = job.begun_at === null ? "it was not begun" : "its session was dropped";
  throw new RlmError("session_not_found", `job ${JSON.stringify(id)} of ${name} has no session: ${why}`, {
    suggestion: `\`belay jobs ${name}\` shows how its jobs stand.`,
  });
}
