export { exportingOf } from "./exporting.ts";
export { linesOf } from "./lines.ts";
export { sendLines } from "./send.ts";
export { sendingStore } from "./sending-store.ts";
export { type Exporting, spansOf } from "./spans.ts";
