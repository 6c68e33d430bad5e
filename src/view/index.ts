export { fileOf, isReplaceable } from "./file.ts";
export { pageSource } from "./page-source.ts";
export { type ListedJob, listedJob, traceOfRun } from "./run-trace.ts";
export { type Served, type Subject, serveView, sessionSubject } from "./serve.ts";
export { type Looked, lookAt } from "./session-trace.ts";
export { escaped, staticPage } from "./static-page.ts";
export type { Trace } from "./trace-file.ts";
