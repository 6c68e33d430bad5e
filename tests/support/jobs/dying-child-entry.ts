// The process that tries one job, which ends itself once a second call is out: as if the job had ended it.
import { serveWorker } from "../../../src/runs/child.ts";

const send = process.send?.bind(process);
process.send = (message: unknown, ...rest: never[]) => {
  if (/"done":1,"running":1/.test(String(message))) process.kill(process.pid, "SIGKILL");
  return send?.(message, ...rest) ?? false;
};
serveWorker();
