export type { Trace } from "./assembled.ts";
export { fileOf, isReplaceable } from "./file.ts";
export { type Looked, lookAt } from "./look.ts";
export { pageSource } from "./page-source.ts";
export { type ListedJob, listedJob, traceOfRun } from "./run-trace.ts";
export { type Served, type Subject, serveView, sessionSubject } from "./serve.ts";
