export { fileOf } from "./file.ts";
export { lookAt } from "./look.ts";
export { pageSource } from "./page-source.ts";
export { isReplaceable } from "./replaceable.ts";
export { serveView } from "./serve.ts";
export { figuresOf, type Trace } from "./trace.ts";
