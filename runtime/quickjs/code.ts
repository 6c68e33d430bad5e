import { EvalFlags, type JSValueHandle } from "quickjs-wasi";
import type { Engine, EngineHost } from "../engine.ts";
import { attempt, call, entriesOf, exceptionIn, type Instance } from "./instance.ts";

import type { Strings } from "./strings.ts";

type GuestCode = Pick<Engine, "startCell" | "startOwnCell" | "extend" | "runPreamble" | "compile" | "enter">;

/** The ways in which host code enters the guest. */
export function openGuestCode(instance: Instance, post: PostFunction): GuestCode {
  const { vm } = instance;
  return {
    startCell: (source, filename) => start(instance, () => vm.evalCode(source, filename, EvalFlags.ASYNC)),
    startOwnCell: (source, filename) =>
      start(instance, () => {
        using cell = vm.evalCode(source, filename);
        return call(instance, cell, entriesOf(instance).builtins ?? vm.global);
      }),
    extend(source, config) {
      instance.stopped = false;
      return attempt(instance, () => extend(instance, post, source, config));
    },
    runPreamble(source, filename) {
      instance.stopped = false;
      return attempt(instance, () => {
        using names = vm.evalCode(source, filename);
        return call(instance, entriesOf(instance).inject, names);
      });
    },
    compile(source, filename, kind = "script") {
      const flags = kind === "cell" ? EvalFlags.COMPILE_ONLY | EvalFlags.ASYNC : EvalFlags.COMPILE_ONLY;
      return attempt(instance, () => vm.evalCode(source, filename, flags));
    },
    enter(name, payload) {
      instance.stopped = false;
      return attempt(instance, () => {
        using nameText = vm.newString(name);
        using payloadText = vm.newString(payload);
        return call(instance, entriesOf(instance).enter, nameText, payloadText);
      });
    },
  };
}

/** Runs a cell up to its first wait; its end is posted. */
function start(instance: Instance, cell: () => JSValueHandle): void {
  const { finish, failed } = entriesOf(instance);
  instance.stopped = false;
  try {
    using promise = cell();
    // The engine's own subscription: a guest may have patched Promise.prototype.
    instance.vm.promiseThenRaw(promise, finish, failed).dispose();
  } catch (error) {
    using exception = exceptionIn(error);
    if (!instance.stopped) attempt(instance, () => call(instance, failed, exception.handle));
  }
}

/**
 * Gives the extension a `post` of its own, and uses what it returns in place of what the guest was
 * entered by.
 */
function extend(instance: Instance, post: PostFunction, source: string, config: string): JSValueHandle {
  const { vm } = instance;
  const { enter, inject, builtins, ...kept } = entriesOf(instance);
  vm.unregisterHostCallback("post");
  using extension = vm.evalCode(source, "<extension>");
  using postHandle = vm.newFunction("post", post);
  using configText = vm.newString(config);
  using made = call(instance, extension, postHandle, configText, enter, inject, builtins ?? vm.undefined);
  instance.entries = {
    ...kept,
    enter: made.getProp("enter"),
    inject: made.getProp("inject"),
    builtins: made.getProp("builtins"),
  };
  for (const replaced of [enter, inject, builtins]) replaced?.dispose();
  return vm.undefined;
}

/** The host function that the prelude is given. */
export type PostFunction = (kind?: JSValueHandle, name?: JSValueHandle, payload?: JSValueHandle) => JSValueHandle;

/** The guest's one way out, as a function of the engine. */
export function openGuestPost({ vm }: Instance, host: EngineHost, strings: Strings) {
  // The engine duplicates what a host function returns: the host must free a reply, but only once
  // the call has returned.
  let lastReply: JSValueHandle | undefined;

  /** Frees the last reply. An image that was captured before would hold its value forever. */
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
