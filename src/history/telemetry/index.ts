export { linesOf } from "./otlp.ts";
export { sendLines } from "./send.ts";
export { sendingStore } from "./sending-store.ts";
export { type Exporting, exportingOf, spansOf } from "./spans.ts";
