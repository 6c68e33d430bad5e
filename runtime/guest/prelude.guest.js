// The guest's side of the bridge, evaluated once before any cell. Nothing here is reachable from a cell except the names
// that `install` defines. `post(kind, name, payload)` is the only way out, the returned functions are the only way in.
(function prelude(config, modules, kit) {
  const { getOwnPropertyDescriptor, ObjectPrototype, parse, stringify, SafeMap, mapSet, mapDelete, mapClear } = kit;
  const { mapForEach, padEnd, repeat, newList, append, clip, inspect, fail, describe } = kit;
  const { call, callAsync, settle, forgetCalls, builtin, install, everything, shadow, unshadow, guest, commands } = kit;
  const { seedRandom, startTime, inject, removeInjected, clearResults, finish, failed } = kit;

  for (const name of config.sync) builtin(name, (...args) => call(name, args));
  for (const name of config.async) builtin(name, (...args) => callAsync(name, args));
  builtin("require", (name) => {
    throw fail("sandbox_violation", `require(${inspect(name)}) is not available`, NO_MODULES);
  });
  const NO_MODULES = "There are no modules here; the builtins are global: peek, find, search, memory, ….";
  install("builtins", everything);
  for (const module of modules) module(guest);

  /** Promises that were rejected and have no listener, with what was thrown. */
  const unhandled = new SafeMap();

  /** With one of these on every object the engine takes each cell's value for a promise, or loses it. */
  const FATAL_NAMES = ["then", "value"];
  const fatal = (name) => getOwnPropertyDescriptor(ObjectPrototype, name);

  const steps = {
    __proto__: null,
    begin(options) {
      config.completion = options.completion;
      config.outputUnits = options.outputUnits;
      config.sites = options.sites;
      startTime();
      if (options.seed) seedRandom(options.seed);
      clearResults();
      mapClear(unhandled);
      for (let i = 0; i < FATAL_NAMES.length; i++) {
        if (fatal(FATAL_NAMES[i])?.configurable) delete ObjectPrototype[FATAL_NAMES[i]];
      }
      removeInjected();
      unshadow();
      for (let i = 0; i < options.shadows.length; i++) shadow(options.shadows[i]);
    },
    /** The host has the answer of a call. */
    settle(answer) {
      settle(answer);
    },
    /** Forgets calls that will not be answered. Tells whether a cell can still give its value. */
    drop() {
      forgetCalls();
      for (let i = 0; i < FATAL_NAMES.length; i++) if (fatal(FATAL_NAMES[i])?.configurable === false) return false;
      return true;
    },
    unhandled() {
      const messages = newList();
      mapForEach(unhandled, (reason) => {
        if (messages.length < 5) append(messages, clip(inspect(reason), 200));
      });
      return stringify(messages);
    },
    /** True if the machine still allocates, calls and renders. */
    check() {
      const probe = newList();
      for (let i = 0; i < 1000; i++) append(probe, i);
      return `${probe.length === 1000 && parse(stringify(probe))[999] === 999}`;
    },
  };

  /** The host's calls: a step of an exec, or a module's command. Takes JSON text and returns JSON text. */
  function enter(name, payload) {
    try {
      const run = steps[name] ?? commands[name];
      return `j${run(payload === "" ? undefined : parse(payload)) ?? "null"}`;
    } catch (error) {
      return `e${describe(error)}`;
    }
  }

  /** The engine's report of a rejection without a listener, and of one that got its listener late. */
  function rejected(promise, reason, isHandled) {
    if (isHandled) mapDelete(unhandled, promise);
    else mapSet(unhandled, promise, reason);
  }

  const BLANKS = [repeat(" ", 4096), repeat("\u0100", 4096)];
  /** A string that the engine keeps in one piece. The host writes a text into it before anything reads it. */
  const blank = (units, wide) => padEnd("", units, BLANKS[wide ? 1 : 0]);

  return { enter, finish, failed, describe, inject, rejected, blank };
});
