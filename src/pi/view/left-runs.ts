import type { ExtensionUIContext } from "@mariozechner/pi-coding-agent";
import { leftRuns, watchLeftRuns } from "../runs/left.ts";

/** The place of the line in Pi's footer. */
const STATUS = "rlm-background";

/** Shows calls that run on in sessions that Pi has left, in one line of its footer, until the returned function is called. */
export function tellLeftRuns(ui: Pick<ExtensionUIContext, "setStatus" | "notify">): () => void {
  const show = () => {
    const names = leftRuns().map(({ tool }) => tool);
    ui.setStatus(STATUS, names.length > 0 ? `rlm: running on after you left: ${names.join(", ")}` : undefined);
  };
  show();
  return watchLeftRuns((over) => {
    show();
    if (!over) return;
    const how = over.isSuspended() ? "waits for you" : "is over; its result waits";
    ui.notify(`${over.tool}, which ran on after you left, ${how} in that session`, "info");
  });
}
