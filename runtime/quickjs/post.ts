import type { JSValueHandle } from "quickjs-wasi";
import type { EngineHost } from "../engine.ts";
import type { Instance } from "./instance.ts";
import type { Strings } from "./strings.ts";

/** The host function that the prelude is given. */
export type PostFunction = (kind?: JSValueHandle, name?: JSValueHandle, payload?: JSValueHandle) => JSValueHandle;

/** The guest's one way out, as a function of the engine. */
export function openGuestPost({ vm }: Instance, host: EngineHost, strings: Strings) {
  // The engine duplicates what a host function returns: the host must free a reply, but only once the call has returned.
  let lastReply: JSValueHandle | undefined;

  /** Frees the last reply. An image that was captured before would hold its value for ever. */
  function forgetReply(): void {
    lastReply?.dispose();
    lastReply = undefined;
  }

  const post: PostFunction = (kind, name, payload) => {
    const reply = host.post(textOf(kind), textOf(name), textOf(payload));
    forgetReply();
    lastReply =
      typeof reply === "string" ? vm.newString(reply) : host.placing(reply, () => strings.place(textOf(name), reply));
    return lastReply;
  };
  return { post, forgetReply };
}

function textOf(handle: JSValueHandle | undefined): string {
  return handle?.isString ? handle.toString() : "";
}
