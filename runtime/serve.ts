import { parentPort, workerData } from "node:worker_threads";
import { type Clock, systemClock } from "./clock.ts";
import { MachineFault } from "./engine.ts";
import { RlmError } from "./errors.ts";
import type { Library } from "./library.ts";
import { type MachineImage, openMachine, type Slice } from "./machine.ts";
import type { FromWorker, Printed, ToWorker } from "./protocol.ts";
import { openQuickJs } from "./quickjs-wasi.ts";

/** What `openSandbox` hands to the worker. */
export interface WorkerSetup<Setup> {
  readonly wasm: WebAssembly.Module;
  readonly shared: Int32Array;
  readonly memoryBytes: number;
  readonly library: Setup;
  readonly image?: MachineImage;
}

/** Runs a machine in this worker. Called once by the worker's entry module, which knows the library. */
export async function serveSandbox<Setup, Message>(createLibrary: (setup: Setup) => Library<Message>): Promise<void> {
  const port = parentPort;
  if (!port) throw new Error("serveSandbox runs in a worker thread");
  const setup: WorkerSetup<Setup> = workerData;
  const answer = (message: FromWorker) => port.postMessage(message);
  const library = createLibrary(setup.library);
  const machine = await openMachine({
    library,
    memoryBytes: setup.memoryBytes,
    clock: systemClock,
    shared: setup.shared,
    notice: (text) => answer({ kind: "notice", text }),
    printed: openPrintRelay(systemClock, (parts) => answer({ kind: "printed", parts })),
    openEngine: (options) => openQuickJs(setup.wasm, options),
    ...(setup.image ? { image: setup.image } : {}),
  });

  function run(message: ToWorker<Message>): Slice | FromWorker {
    switch (message.kind) {
      case "exec":
        return machine.exec(message.input);
      case "settle":
        return machine.settle(message.answers, message.facts);
      case "stop":
        return machine.stop();
      case "copy":
        return { kind: "copied", image: machine.image() };
      case "enter":
        return { kind: "entered", value: machine.enter(message.name, message.payload, message.maxMs) };
      case "library": {
        const next = library.receive(message.message);
        return { kind: "entered", value: next ? machine.enter(next.command, null, message.maxMs) : null };
      }
    }
  }

  port.on("message", (message: ToWorker<Message>) => {
    try {
      answer(run(message));
    } catch (error) {
      if (error instanceof RlmError) {
        const { guestName: name, code, suggestion } = error;
        answer({ kind: "refused", error: { name, code, message: error.message, suggestion } });
      } else {
        const text = error instanceof MachineFault ? error.message : String(error);
        answer({ kind: "failed", message: text });
      }
    }
  });
  answer({ kind: "ready" });
}

/** At once at first, then a few times a second: a flood of prints is no flood of messages. */
function openPrintRelay(clock: Clock, send: (parts: readonly Printed[]) => void): (part: Printed) => void {
  const AT_ONCE = 50;
  const EVERY_MS = 20;
  let sent = 0;
  let sentAt = 0;
  let held: Printed[] = [];
  return (part) => {
    held.push(part);
    const now = clock.monotonic();
    if (sent >= AT_ONCE && now - sentAt < EVERY_MS) return;
    if (now - sentAt > 1000) sent = 0;
    sent++;
    sentAt = now;
    send(held);
    held = [];
  };
}
