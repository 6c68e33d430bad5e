import type { MessagePort, Worker } from "node:worker_threads";
import { type ErrorCode, RlmError } from "./errors.ts";

/** A way to another thread or process. Messages arrive in the order in which they were sent. */
export interface Channel<Heard> {
  send(message: unknown, transfer: readonly ArrayBuffer[]): void;
  /** Keeps this process alive, or lets it end. */
  hold(on: boolean): void;
  /** Sets what hears the other side. Called once. */
  listen(listener: Listener<Heard>): void;
}

export interface Listener<Heard> {
  heard(message: Heard): void;
  /** The other side has ended, and sends nothing more. */
  gone(why: Error): void;
}

/** Asks another thread or process, which {@link serveCaller} serves. */
export interface Caller<Request, Answer, Note = never> {
  /**
   * Sends a request and returns its answer. While one is awaited the process stays alive.
   *
   * @param transfer buffers that cross without a copy
   * @throws RlmError that the other side threw; Error if it failed otherwise, or has ended
   */
  ask(request: Request, transfer?: readonly ArrayBuffer[]): Promise<Answer>;
  /** Sends what has no answer. */
  tell(note: Note): void;
}

type ToServer<Request, Note> = { readonly id: number; readonly request: Request } | { readonly note: Note };

type ToCaller<Answer, Note> =
  | { readonly id: number; readonly ok: true; readonly value: Answer }
  | { readonly id: number; readonly ok: false; readonly error: SentError }
  | { readonly note: Note };

/** An error on its way. Only an RlmError has a code. */
interface SentError {
  readonly code?: ErrorCode;
  readonly message: string;
  readonly suggestion: string;
}

/** @param heard is called with each note of the other side */
export function openCaller<Request, Answer, Note = never, Heard = never>(
  channel: Channel<ToCaller<Answer, Heard>>,
  heard: (note: Heard) => void = () => {},
): Caller<Request, Answer, Note> {
  /** Requests without an answer, by their ids. */
  const waiting = new Map<number, PromiseWithResolvers<Answer>>();
  let gone: Error | undefined;
  let lastId = 0;

  function take(id: number): PromiseWithResolvers<Answer> | undefined {
    const request = waiting.get(id);
    if (waiting.delete(id) && waiting.size === 0) channel.hold(false);
    return request;
  }

  channel.listen({
    heard(message) {
      if ("note" in message) heard(message.note);
      else if (message.ok) take(message.id)?.resolve(message.value);
      else take(message.id)?.reject(receivedError(message.error));
    },
    gone(why) {
      gone ??= why;
      for (const { reject } of waiting.values()) reject(gone);
      waiting.clear();
    },
  });

  return {
    ask(request, transfer = []) {
      if (gone) return Promise.reject(gone);
      const answer = Promise.withResolvers<Answer>();
      if (waiting.size === 0) channel.hold(true);
      waiting.set(++lastId, answer);
      channel.send({ id: lastId, request } satisfies ToServer<Request, Note>, transfer);
      return answer.promise;
    },
    tell: (note) => channel.send({ note } satisfies ToServer<Request, Note>, []),
  };
}

/** The work of a thread or process for its caller. */
interface Service<Request, Answer, Heard = never> {
  /** Answers a request. What it throws is thrown to the caller. */
  answer(request: Request): Answer | Promise<Answer>;
  /** Takes what the caller tells. */
  heard?(note: Heard): void;
  /** The buffers of an answer that cross without a copy. */
  transfer?(answer: Answer): readonly ArrayBuffer[];
}

/** Serves a caller. Returns what tells it a note. */
export function serveCaller<Request, Answer, Heard = never, Note = never>(
  channel: Pick<Channel<ToServer<Request, Heard>>, "send" | "listen">,
  service: Service<Request, Answer, Heard>,
): (note: Note) => void {
  const send = (message: ToCaller<Answer, Note>, transfer: readonly ArrayBuffer[] = []) =>
    channel.send(message, transfer);

  async function answer(id: number, request: Request): Promise<void> {
    try {
      const value = await service.answer(request);
      send({ id, ok: true, value }, service.transfer?.(value));
    } catch (error) {
      send({ id, ok: false, error: sentError(error) });
    }
  }

  channel.listen({
    heard(message) {
      if ("note" in message) service.heard?.(message.note);
      else void answer(message.id, message.request);
    },
    gone() {},
  });
  return (note) => send({ note });
}

function sentError(error: unknown): SentError {
  if (error instanceof RlmError) return error.toJSON();
  return { message: error instanceof Error ? error.message : String(error), suggestion: "" };
}

function receivedError({ code, message, suggestion }: SentError): Error {
  return code === undefined ? new Error(message) : new RlmError(code, message, { suggestion });
}

/** Asks a thread of this process. */
export interface ThreadCaller<Request, Answer, Note = never> extends Caller<Request, Answer, Note> {
  /** Ends the thread, whatever it does. Until it has ended the process stays alive. */
  end(): Promise<void>;
}

/**
 * Opens a caller of a thread of this process.
 *
 * @param ended says that it has ended: "the machine's thread ended"
 * @param heard is called with each note of the thread
 */
export function openThreadCaller<Request, Answer, Note = never, Heard = never>(
  worker: Worker,
  ended: string,
  heard?: (note: Heard) => void,
): ThreadCaller<Request, Answer, Note> {
  let isEnding = false;
  const channel: Channel<ToCaller<Answer, Heard>> = {
    send: (message, transfer) => worker.postMessage(message, [...transfer]),
    hold(on) {
      if (on) worker.ref();
      // The last answer may still come while the end is awaited.
      else if (!isEnding) worker.unref();
    },
    listen(listener) {
      worker.on("message", listener.heard);
      worker.on("error", listener.gone);
      worker.once("exit", () => listener.gone(new Error(ended)));
    },
  };
  return {
    ...openCaller<Request, Answer, Note, Heard>(channel, heard),
    async end() {
      isEnding = true;
      await worker.terminate();
    },
  };
}

/** The way from a thread to the one that started it. */
export function channelOfPort<Heard>(port: MessagePort | null): Pick<Channel<Heard>, "send" | "listen"> {
  if (!port) throw new Error("this module is the entry of a thread");
  return {
    send: (message, transfer) => port.postMessage(message, transfer),
    listen: ({ heard }) => void port.on("message", heard),
  };
}
