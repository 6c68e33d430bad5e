import { JSValueHandle } from "quickjs-wasi";
import type { EngineImage, EngineOptions, PreludeEntries, PreludeEntry } from "../engine.ts";
import { call, type Entries, type Instance } from "./instance.ts";
import type { PostFunction } from "./post.ts";

/** Runs the prelude of a new guest. */
export function runPrelude(
  instance: Instance,
  post: PostFunction,
  { prelude, config }: Pick<EngineOptions, "prelude" | "config">,
): Entries {
  const { vm } = instance;
  const preludeHandle = vm.evalCode(prelude, "<prelude>");
  const configText = vm.newString(config);
  const made = call(instance, preludeHandle, vm.newFunction("post", post), configText);
  for (const handle of [preludeHandle, configText]) handle.dispose();
  return eachEntry((name) => made.getProp(name), made.getProp("builtins"));
}

/** Finds the prelude's functions again in a guest that was made from an image: its handles are those of the image. */
export function findPrelude({ vm }: Instance, post: PostFunction, { entries }: EngineImage): Entries {
  vm.registerHostCallback("post", post);
  const handle = (token: number) => new JSValueHandle(vm, token);
  return eachEntry(
    (name) => handle(entries[name]),
    entries.builtins === undefined ? undefined : handle(entries.builtins),
  );
}

/** Places of the prelude's functions, for an image. */
export function placesOf(entries: Entries): PreludeEntries<number> {
  return eachEntry((name) => entries[name].ptr, entries.builtins?.ptr);
}

function eachEntry<T>(make: (name: PreludeEntry) => T, builtins: T | undefined): PreludeEntries<T> {
  return {
    enter: make("enter"),
    finish: make("finish"),
    failed: make("failed"),
    describe: make("describe"),
    inject: make("inject"),
    rejected: make("rejected"),
    blank: make("blank"),
    ...(builtins === undefined ? {} : { builtins }),
  };
}
