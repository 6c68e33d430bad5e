export { exportingOf } from "./exporting.ts";
export { linesOf, type SpanLine } from "./lines.ts";
export { sendLines } from "./send.ts";
export { type Exporting, spansOf } from "./spans.ts";
