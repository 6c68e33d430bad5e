import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { belayExtension } from "../../../src/pi/extension.ts";
import { openView } from "../../../src/pi/view/index.ts";
import { openStore } from "../../../src/store/index.ts";
import { FAULT_VARIABLE, faultsFrom } from "./fault.ts";

// Belay's extension over a store and a session of Pi that kill the process where a test asked for it, and commands for
// what Pi's protocol has none.

export default function (pi: ExtensionAPI): void {
  const faults = faultsFrom(process.env[FAULT_VARIABLE]);
  pi.registerCommand("fault", {
    description: "Kill this process at a write",
    handler: async (fault) => faults.ask(JSON.parse(fault)),
  });
  pi.registerCommand("goto", {
    description: "Go to an entry of the session's tree",
    async handler(entry, context) {
      await context.navigateTree(entry, { summarize: false });
    },
  });
  pi.registerCommand("again", {
    description: "Load extensions, settings and the rest again, as /reload does",
    handler: (_, context) => context.reload(),
  });
  pi.registerCommand("tools", {
    description: "Offer these tools alone",
    handler: async (names) => pi.setActiveTools(names.split(" ")),
  });
  for (const channel of ["rlm:externalize", "rlm:query:start", "rlm:query:end"]) {
    pi.events.on(channel, (data) => void process.stderr.write(`${channel} ${JSON.stringify(data)}\n`));
  }
  belayExtension({ ...openView(), openStore: async (folder) => faults.around(await openStore(folder)) })(
    faults.entries(pi),
  );
  pi.on("session_before_switch", () => {
    faults.happened("session_before_switch");
    return {};
  });
}
