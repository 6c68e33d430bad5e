import { constants, copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { RlmError } from "../../runtime/index.ts";
import { openRoots, pauses, walk } from "../context/index.ts";
import { canonicalJson } from "../platform/cell-json.ts";
import { messageOf } from "../platform/errors.ts";
import { makeFolder } from "../platform/make-folder.ts";
import { statsOf } from "../platform/paths.ts";
import { joinSignals } from "../platform/signals.ts";
import { readJson } from "../platform/written-json.ts";
import type { AgentPlaces, HostedOptions, WorkflowMarks } from "../session/index.ts";
import type { LentAgents, LentToJob } from "./api.ts";
import type { RunSpec } from "./spec.ts";
import type { JobSession } from "./try-parts.ts";

/** The agent of a job, and the folder in which it works. */
export interface LentAgent extends LentToJob {
  readonly options: Pick<HostedOptions, "agents" | "cwd" | "waitsForUser">;
  readonly workflows: WorkflowMarks;
  readonly folder: string;
}

/** True if a run's script may ask the agent here. */
export function isLent(lent: LentAgents | null | undefined, { script }: Pick<RunSpec, "script">, name: string) {
  return lent?.source === script.source && Object.hasOwn(lent.commands, name);
}

/**
 * The agent that is lent to a job; null: none.
 *
 * @param job the id of its session, and its input as JSON
 */
export function lentTo(
  lent: LentAgents | null | undefined,
  spec: Pick<RunSpec, "script">,
  { session, input }: { readonly session: string; readonly input: string },
): LentAgent | null {
  if (!lent) return null;
  const key = canonicalJson(readJson(input)) ?? "";
  const job = Object.hasOwn(lent.jobs, key) ? lent.jobs[key] : undefined;
  const command = job && isLent(lent, spec, job.agent) ? lent.commands[job.agent] : undefined;
  if (!job || !command) return null;
  const folder = join(tmpdir(), `belay-agent-${session}`);
  return {
    ...job,
    folder,
    options: { agents: { [job.agent]: command }, cwd: folder, waitsForUser: true },
    workflows: {
      mark: () => true,
      doubt: ({ cell, workflow }) => (workflow !== undefined && cell === lent.source ? null : DOUBT),
    },
  };
}

const DOUBT = "agents are lent to the script of this run alone";

/** A job's session whose agent works in a copy of the files, which goes when the job is over. */
export function withAgent(session: JobSession, lent: LentAgent, places: AgentPlaces): JobSession {
  const drop = () => rmSync(lent.folder, { recursive: true, force: true });
  return {
    async run(signals) {
      using stopped = joinSignals(signals.signal, signals.suspend);
      const end = await places(lent.agent).run(stopped.signal, async () => {
        await copyFor(lent);
        return session.run(signals);
      });
      if (end?.kind === "over") drop();
      return end ?? { kind: "unfinished" };
    },
    async discard() {
      const discarded = await session.discard();
      drop();
      return discarded;
    },
    close: () => session.close(),
  };
}

/**
 * Copies what a load would read, whole or not at all: an agent may change its files, and those are
 * other questions' too.
 *
 * @throws RlmError `context_lost`
 */
async function copyFor({ files, folder }: LentAgent): Promise<void> {
  if (existsSync(folder)) return;
  const part = `${folder}.part`;
  try {
    // A process that was killed may have begun it. No other one has the job now.
    rmSync(part, { recursive: true, force: true });
    makeFolder(part);
    const from = resolve(files);
    if (statsOf(from)?.isDirectory()) {
      const roots = openRoots([from], from);
      const { files: found } = await walk(roots, roots[0] ?? from, pauses());
      for (const { relative, path } of found) copyOne(path, join(part, relative));
    } else copyOne(from, join(part, basename(from)));
    renameSync(part, folder);
  } catch (error) {
    rmSync(part, { recursive: true, force: true });
    throw new RlmError("context_lost", `${files} cannot be copied for its agent: ${messageOf(error)}`, {
      suggestion: "Make it readable, and free space in the folder of temporary files.",
      cause: error,
    });
  }
}

function copyOne(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to, constants.COPYFILE_FICLONE);
}
