// The guest's side of the bridge, evaluated once before any cell. Nothing here is reachable from a cell except the names
// that `install` defines. `post(kind, name, payload)` is the only way out, the returned functions are the only way in.
(function prelude(post, config, modules, kit) {
  const {
    getOwnPropertyDescriptor,
    defineProperty,
    setPrototypeOf,
    freeze,
    objectKeys,
    ObjectPrototype,
    isFiniteNumber,
    parse,
    stringify,
    SafeMap,
    SafePromise,
    SafeError,
    regExpSource,
    regExpFlags,
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
    isView,
    clip,
    brand,
    inspect,
    render,
    makeError,
    fail,
    argumentError,
    describe,
    stackOf,
    errorClass,
    seedRandom,
    startTime,
  } = kit;

  // --- calls out ------------------------------------------------------------------------------------------------

  /** The common case: nothing in it runs code or is lost. */
  function allPlain(args) {
    for (let i = 0; i < args.length; i++) {
      const value = args[i];
      if (
        typeof value === "string"
          ? value.length > MAX_ARGUMENT_UNITS
          : typeof value !== "number" || !isFiniteNumber(value)
      ) {
        return false;
      }
    }
    return true;
  }
  /** More than any builtin takes: the largest is a value for memory, 5 MB. */
  const MAX_ARGUMENT_UNITS = 16 * 1024 * 1024;

  /** Arguments as a JSON array. A RegExp goes as { source, flags }; what JSON would lose is an error here. */
  function marshal(name, args) {
    if (allPlain(args)) return stringify(setPrototypeOf(args, null));
    let json = "[";
    let last = args.length - 1;
    while (last >= 0 && args[last] === undefined) last--;
    for (let i = 0; i <= last; i++) {
      let value = args[i];
      if (typeof value === "object" && value !== null && brand(value, regExpSource)) {
        value = { __proto__: null, source: regExpSource(value), flags: regExpFlags(value) };
      }
      const argument = `argument ${i + 1}`;
      if (isView(value)) throw argumentError(`${name}: ${argument} is a typed array`, "Pass plain JSON values.");
      const { json: text, whole } = render(value, argument, MAX_ARGUMENT_UNITS, (path, what) => {
        const cure = what === "a cycle" ? "Pass plain data without a reference to itself." : "Pass plain JSON values.";
        throw argumentError(`${name}: ${path} is ${what}`, cure);
      });
      if (!whole) throw argumentError(`${name}: ${argument} is too large`, "Pass less at once.");
      json += i > 0 ? `,${text}` : text;
    }
    return `${json}]`;
  }

  /** Replies are one letter and a payload: `s` a string, `j` JSON, `e` an error as JSON. */
  function open(reply) {
    const payload = slice(reply, 1);
    switch (reply[0]) {
      case "s":
        return payload;
      case "j":
        return parse(payload);
      default:
        throw makeError(parse(payload));
    }
  }

  const call = (name, args) => open(post("sync", name, marshal(name, args)));

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
      post("print", stream, line.length > config.outputUnits ? slice(line, 0, config.outputUnits + 1) : `${line}\n`);
    };

  // --- names that cells see -------------------------------------------------------------------------------------

  function install(name, get) {
    defineProperty(globalThis, name, {
      __proto__: null,
      get,
      set: () => {
        throw fail("js_error", `${name} is read-only`, `${name} is a builtin: use another name.`, "TypeError");
      },
      enumerable: false,
      configurable: false,
    });
  }
  const constant = (value) => {
    freeze(value);
    return () => value;
  };
  const named = (name, fn) => {
    defineProperty(fn, "name", { __proto__: null, value: name });
    return fn;
  };
  const builtin = (name, fn) => install(name, constant(named(name, fn)));

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
    defineProperty(globalThis, name, {
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
    const own = objectKeys(names);
    for (let i = 0; i < own.length; i++) {
      const name = own[i];
      const current = getOwnPropertyDescriptor(globalThis, name);
      append(injected, name);
      if (current && !current.configurable) globalThis[name] = names[name];
      else {
        defineProperty(globalThis, name, {
          __proto__: null,
          get: () => names[name],
          set: (value) => defineProperty(globalThis, name, dataProperty(value)),
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
        const found = getOwnPropertyDescriptor(globalThis, injected[i]);
        if (found?.configurable) delete globalThis[injected[i]];
        else if (found?.writable) globalThis[injected[i]] = undefined;
      }
      injected = newList();
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
    /** Forgets calls that nobody will answer. */
    drop() {
      mapClear(pending);
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
      const result = render(value, "result", config.resultUnits, note);
      const rest = result.whole ? config.resultUnits - result.size : config.resultUnits;
      const resultMeta = meta === undefined ? undefined : render(meta, "result_meta", rest, note);
      const cut = !result.whole || resultMeta?.whole === false;
      post(
        "done",
        "ok",
        stringify({
          __proto__: null,
          result: cut ? null : result.json,
          meta: cut || !resultMeta ? null : resultMeta.json,
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
