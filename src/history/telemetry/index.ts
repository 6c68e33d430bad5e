export { linesOf, sendLines } from "./otlp.ts";
export { sendingStore } from "./sending-store.ts";
export { type Exporting, exportingOf, spansOf } from "./spans.ts";
