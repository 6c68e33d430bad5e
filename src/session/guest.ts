import { openSandbox, type Sandbox } from "../../runtime/index.ts";
import type { Context } from "../context/context.ts";
import { type ContextMessage, contextMessage } from "./context-message.ts";

export interface GuestOptions {
  readonly worker: URL;
  readonly memoryBytes: number;
  readonly indexDir: string;
  readonly onNotice: (text: string) => void;
}

/** The guest of a session: at most one machine at a time, made when needed, replaced when lost or reset. */
export interface Guest extends AsyncDisposable {
  /** A machine whose library holds this context. */
  use(context: Context | null): Promise<Sandbox<ContextMessage>>;
  /** A guest that begins as this one and goes its own way; it ends when disposed, or when it is lost. */
  copy(context: Context | null): Promise<Guest>;
  /** Ends the machine with all its variables and starts a fresh one. */
  renew(): Promise<void>;
}

export function openGuest(options: GuestOptions): Guest {
  return guestOn(options, undefined);
}

function guestOn(options: GuestOptions, first: Promise<Sandbox<ContextMessage>> | undefined): Guest {
  const { worker, memoryBytes, onNotice } = options;
  // Starting a thread takes longer than reading a small context: the two overlap.
  let machine: Promise<Sandbox<ContextMessage>> | undefined = first ?? start();
  let sent: Context | null = null;

  function start(): Promise<Sandbox<ContextMessage>> {
    const starting = openSandbox<null, ContextMessage>({ worker, memoryBytes, onNotice, library: null });
    starting.catch(() => {});
    return starting;
  }

  async function end(): Promise<void> {
    const ending = machine;
    machine = undefined;
    sent = null;
    await (await ending?.catch(() => undefined))?.[Symbol.asyncDispose]();
  }

  async function use(context: Context | null): Promise<Sandbox<ContextMessage>> {
    machine ??= start();
    const live = await machine;
    if (context && sent !== context) {
      await live.tell(contextMessage(context, options.indexDir));
      sent = context;
    }
    return live;
  }

  return {
    use,
    async copy(context) {
      const original = await use(context);
      return guestOn(options, original.copy());
    },
    async renew() {
      await end();
      machine = start();
    },
    [Symbol.asyncDispose]: end,
  };
}
