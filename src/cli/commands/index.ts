import { ask } from "./ask.ts";
import { batch } from "./batch.ts";
import { completion } from "./completion.ts";
import type { Command } from "./define.ts";
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

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  exec,
  find,
  search,
  ask,
  query,
  batch,
  jobs,
  worker,
  evaluate,
  repl,
  mcp,
  demo,
  resume,
  sessions,
  show,
  view,
  fork,
  rm,
  gc,
  models,
  doctor,
  completion,
];
