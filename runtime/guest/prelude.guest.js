// The guest's side of the bridge, evaluated once before any cell. Nothing here is reachable from a cell except the names
// that `install` defines. `post(kind, name, payload)` is the only way out, the returned functions are the only way in.
(function prelude(post, config, modules, kit) {
  const {
    getOwnPropertyDescriptor,
    defineProperty,
    freeze,
    objectKeys,
    ObjectPrototype,
    parse,
    stringify,
    SafeMap,
    SafePromise,
    SafeError,
    mapGet,
    mapSet,
    mapHas,
    mapDelete,
    mapClear,
    mapForEach,
    slice,
    padEnd,
    repeat,
    charCodeAt,
    newList,
    dataProperty,
    append,
    isObject,
    clip,
    inspect,
    render,
    makeError,
    marshal,
    open,
    call,
    install,
    constant,
    named,
    builtin,
    shadow,
    unshadow,
    global,
    fail,
    argumentError,
    describe,
    stackOf,
    errorClass,
    seedRandom,
    startTime,
  } = kit;

  // --- calls that are answered later ----------------------------------------------------------------------------

  const pending = new Map();

  function callAsync(name, args) {
    return new SafePromise((resolve, reject) => {
      // Where the call stands: its error comes from outside, with no stack of its own.
      const stack = stackOf(new SafeError(""));
      if (config.sites) post("site", "", stack);
      const id = open(post("call", name, marshal(name, args)));
      mapSet(pending, id, { __proto__: null, resolve, reject, stack });
    });
  }

  // --- output ---------------------------------------------------------------------------------------------------

  const printer =
    (stream) =>
    (...values) => {
      let line = "";
      for (let i = 0; i < values.length; i++) {
        const value = values[i];
        line += (i > 0 ? " " : "") + (typeof value === "string" ? value : inspect(value));
      }
      // One unit is at least one byte: what goes beyond the limit need not leave the guest to be cut.
      if (line.length <= config.outputUnits) post("print", stream, `${line}\n`);
      else {
        post("print", stream, slice(line, 0, config.outputUnits + 1));
        post("unprinted", stream, `${line.length - config.outputUnits}`);
      }
    };

  // --- names that cells see -------------------------------------------------------------------------------------

  for (const name of config.sync) builtin(name, (...args) => call(name, args));
  for (const name of config.async) builtin(name, (...args) => callAsync(name, args));
  builtin("print", printer("stdout"));
  const out = named("log", printer("stdout"));
  const err = named("error", printer("stderr"));
  for (const fn of [out, err]) freeze(fn);
  install("console", constant({ log: out, info: out, debug: out, warn: err, error: err }));
  builtin("require", (name) => {
    throw fail("sandbox_violation", `require(${inspect(name)}) is not available`, NO_MODULES);
  });
  const NO_MODULES = "There are no modules here; the builtins are global: peek, find, search, memory, ….";

  /** `result` and `result_meta`: kept here, so that no cell can freeze or redefine them. */
  const results = { __proto__: null, result: undefined, result_meta: undefined };
  for (const name of ["result", "result_meta"]) {
    defineProperty(global, name, {
      __proto__: null,
      get: () => results[name],
      set: (value) => {
        results[name] = value;
      },
      enumerable: false,
      configurable: false,
    });
  }

  /** Bytes of UTF-8: for short ASCII without a way out and back. */
  function utf8Length(text) {
    if (text.length > 100) return +post("bytes", "", text);
    for (let i = 0; i < text.length; i++) if (charCodeAt(text, i) > 127) return +post("bytes", "", text);
    return text.length;
  }

  const commands = { __proto__: null };
  const guest = {
    __proto__: null,
    call,
    callAsync,
    fail,
    argumentError,
    render,
    parse,
    /** JSON text of a value of the module's own. */
    encode: (value) => render(value, "value", Infinity, () => {}, false).json,
    errorClass,
    builtin,
    install,
    constant,
    named,
    append,
    put: (list, index, value) => defineProperty(list, index, dataProperty(value)),
    isObject,
    utf8Length,
    text: (name) => post("text", name, ""),
    newMap: () => {
      const map = new SafeMap();
      return {
        __proto__: null,
        get: (key) => mapGet(map, key),
        set: (key, value) => mapSet(map, key, value),
        has: (key) => mapHas(map, key),
        delete: (key) => mapDelete(map, key),
        clear: () => mapClear(map),
        forEach: (fn) => mapForEach(map, fn),
        keys: () => {
          const keys = newList();
          mapForEach(map, (_value, key) => append(keys, key));
          return keys;
        },
      };
    },
    newList,
    /** The host calls `name` with one JSON value and gets JSON text back. */
    command: (name, run) => {
      commands[name] = run;
    },
  };
  const manifests = newList();
  /** Fields that a module adds to what `session()` tells. */
  guest.manifest = (fields) => append(manifests, fields);
  guest.manifests = () => {
    let all = { __proto__: null };
    for (let i = 0; i < manifests.length; i++) all = { __proto__: null, ...all, ...manifests[i]() };
    return all;
  };
  for (const module of modules) module(guest);

  // --- the way in -----------------------------------------------------------------------------------------------

  /** Promises that were rejected with nobody listening, with what was thrown. */
  const unhandled = new Map();

  /** Globals that the scripts before the cell have defined (helpers): taken away before they are defined anew. */
  let injected = newList();

  function inject(names) {
    const keys = objectKeys(names);
    for (let i = 0; i < keys.length; i++) {
      const name = keys[i];
      shadow(name);
      const current = getOwnPropertyDescriptor(global, name);
      append(injected, name);
      if (current && !current.configurable) global[name] = names[name];
      else {
        defineProperty(global, name, {
          __proto__: null,
          get: () => names[name],
          set: (value) => defineProperty(global, name, dataProperty(value)),
          enumerable: true,
          configurable: true,
        });
      }
    }
  }

  const FATAL_NAMES = ["then", "value"];

  const steps = {
    __proto__: null,
    begin(options) {
      config.completion = options.completion;
      config.outputUnits = options.outputUnits;
      config.sites = options.sites;
      startTime();
      if (options.seed) seedRandom(options.seed);
      results.result = undefined;
      results.result_meta = undefined;
      mapClear(unhandled);
      // With these on every object the engine takes each cell's value for a promise, or loses it.
      for (let i = 0; i < FATAL_NAMES.length; i++) {
        if (getOwnPropertyDescriptor(ObjectPrototype, FATAL_NAMES[i])?.configurable)
          delete ObjectPrototype[FATAL_NAMES[i]];
      }
      for (let i = 0; i < injected.length; i++) {
        const found = getOwnPropertyDescriptor(global, injected[i]);
        if (found?.configurable) delete global[injected[i]];
        else if (found?.writable) global[injected[i]] = undefined;
      }
      injected = newList();
      unshadow();
      for (let i = 0; i < options.shadows.length; i++) shadow(options.shadows[i]);
    },
    /** The host has the answer of a call: { id, value } or { id, error }. */
    settle(answer) {
      const entry = mapGet(pending, answer.id);
      if (!entry) return;
      mapDelete(pending, answer.id);
      if (answer.error) {
        entry.reject(makeError({ __proto__: null, ...answer.error, stack: entry.stack }));
      } else entry.resolve(answer.value);
    },
    /** Forgets calls that nobody will answer. Tells whether a cell can still give its value. */
    drop() {
      mapClear(pending);
      for (let i = 0; i < FATAL_NAMES.length; i++) {
        if (getOwnPropertyDescriptor(ObjectPrototype, FATAL_NAMES[i])?.configurable === false) return false;
      }
      return true;
    },
    unhandled() {
      const messages = newList();
      mapForEach(unhandled, (reason) => {
        if (messages.length < 5) append(messages, clip(inspect(reason), 200));
      });
      return stringify(messages);
    },
    /** Whether the machine still allocates, calls and renders. */
    check() {
      const probe = newList();
      for (let i = 0; i < 1000; i++) append(probe, i);
      return `${probe.length === 1000 && parse(stringify(probe))[999] === 999}`;
    },
  };

  /** The host's calls: a step of an exec or a module's command. JSON text in and (from what it returns) out. */
  function enter(name, payload) {
    try {
      const run = steps[name] ?? commands[name];
      return `j${run(payload === "" ? undefined : parse(payload)) ?? "null"}`;
    } catch (error) {
      return `e${describe(error)}`;
    }
  }

  /** `result` where the cell set it, else the completion value where the cell ends in an expression. */
  async function finish(completion) {
    try {
      const last = isObject(completion) ? getOwnPropertyDescriptor(completion, "value") : undefined;
      let value = results.result;
      if (value === undefined && config.completion) {
        if (!last)
          throw fail("js_error", "the cell's value was lost: Object.prototype was changed", "Assign to result.");
        value = last.value;
      }
      if (isObject(value)) value = await value;
      let meta = results.result_meta;
      if (isObject(meta)) meta = await meta;
      const lost = newList();
      const note = (path, what) => {
        if (lost.length < 20) append(lost, { __proto__: null, path: clip(path, 200), what });
      };
      const room = +post("room", "", "");
      const result = render(value, "result", room, note, true, (part) => post("part", "", part));
      const resultMeta = meta === undefined ? undefined : render(meta, "result_meta", room, note);
      post(
        "done",
        "ok",
        stringify({
          __proto__: null,
          isWhole: result.whole,
          meta: resultMeta?.whole ? resultMeta.json : null,
          size: result.size + (resultMeta?.size ?? 0),
          counted: result.counted && resultMeta?.counted !== false,
          lost,
        }),
      );
    } catch (error) {
      failed(error);
    }
  }

  function failed(error) {
    post("done", "error", describe(error));
  }

  /** The engine's report of a rejection without a listener, and of one that got its listener late. */
  function rejected(promise, reason, isHandled) {
    if (isHandled) mapDelete(unhandled, promise);
    else mapSet(unhandled, promise, reason);
  }

  const BLANKS = [repeat(" ", 4096), repeat("\u0100", 4096)];
  /** A string that the engine keeps in one piece, for the host to write a text into before anything has seen it. */
  const blank = (units, wide) => padEnd("", units, BLANKS[wide ? 1 : 0]);

  return { enter, finish, failed, describe, inject, rejected, blank };
});
