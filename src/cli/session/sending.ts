import { version } from "../../platform/version.ts";
import { isCollector } from "../../settings/index.ts";
import type { Store } from "../../store/index.ts";

const ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT";

/**
 * The store, which also sends the spans of what ends in it if the user has said where to.
 *
 * @param otlp the setting; what a session has recorded never counts
 * @param say takes a line for people
 */
export async function withSpansSent(store: Store, otlp: string | undefined, say: (line: string) => void) {
  const url = otlp === "env" ? process.env[ENDPOINT] : otlp;
  if (!url) return store;
  if (!isCollector(url)) {
    say(`otlp_failed: ${ENDPOINT} is not the address of a collector`);
    return store;
  }
  const { sendingStore } = await import("../../history/telemetry/index.ts");
  const warn = (problem: string) =>
    say(`otlp_failed: ${problem}; \`belay show SESSION --otlp FILE|URL\` exports them again`);
  return sendingStore(store, { collector: { url, env: { ...process.env } }, version: version(), warn });
}
