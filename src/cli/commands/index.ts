import { ask } from "./ask.ts";
import { batch } from "./batch.ts";
import { completion } from "./completion.ts";
import { type Command, withCode } from "./define.ts";
import { demo } from "./demo.ts";
import { doctor } from "./doctor.ts";
import { evaluate } from "./eval.ts";
import { exec } from "./exec.ts";
import { find } from "./find.ts";
import { fork } from "./fork.ts";
import { gc } from "./gc.ts";
import { jobs } from "./jobs.ts";
import { mcp } from "./mcp.ts";
import { models } from "./models.ts";
import { query } from "./query.ts";
import { repl } from "./repl.ts";
import { resume } from "./resume.ts";
import { rm } from "./rm.ts";
import { search } from "./search.ts";
import { sessions } from "./sessions.ts";
import { show } from "./show.ts";
import { view } from "./view.ts";
import { worker } from "./worker.ts";
import { workflow } from "./workflow.ts";

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  withCode(exec, async () => (await import("../running/exec.ts")).execCommand),
  withCode(find, async () => (await import("../running/find.ts")).findCommand),
  withCode(search, async () => (await import("../running/search.ts")).searchCommand),
  withCode(ask, async () => (await import("../running/ask.ts")).askCommand),
  withCode(query, async () => (await import("../running/exec.ts")).queryCommand),
  withCode(batch, async () => (await import("../batch/batch.ts")).batchCommand),
  withCode(jobs, async () => (await import("../jobs/jobs.ts")).jobsCommand),
  withCode(worker, async () => (await import("../batch/worker.ts")).workerCommand),
  withCode(workflow, async () => (await import("../workflow/command.ts")).workflowCommand),
  withCode(evaluate, async () => (await import("../eval/eval.ts")).evalCommand),
  withCode(repl, async () => (await import("../repl/repl.ts")).replCommand),
  withCode(mcp, async () => (await import("../mcp/mcp.ts")).mcpCommand),
  withCode(demo, async () => (await import("../demo/play.ts")).demoCommand),
  withCode(resume, async () => (await import("../running/resume.ts")).resumeCommand),
  withCode(sessions, async () => (await import("../store/sessions.ts")).sessionsCommand),
  withCode(show, async () => (await import("../store/show.ts")).showCommand),
  withCode(view, async () => (await import("../store/view.ts")).viewCommand),
  withCode(fork, async () => (await import("../store/sessions.ts")).forkCommand),
  withCode(rm, async () => (await import("../store/sessions.ts")).rmCommand),
  withCode(gc, async () => (await import("../store/sessions.ts")).gcCommand),
  withCode(models, async () => (await import("../models/models.ts")).modelsCommand),
  withCode(doctor, async () => (await import("../doctor/doctor.ts")).doctorCommand),
  withCode(completion, async () => (await import("../completion/completion.ts")).completionCommand),
];
