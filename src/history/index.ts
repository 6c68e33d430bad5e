export { sendLines } from "./send.ts";
export { sendingStore } from "./sending-store.ts";
export { linesOf } from "./span.ts";
export { type Exporting, exportingOf, spansOf } from "./spans.ts";
