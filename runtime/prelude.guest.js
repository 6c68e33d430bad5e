// The guest's side of the bridge. Evaluated once, before any cell, as one function expression. It captures every
// primordial that it uses, since a cell may replace them; nothing here is reachable from a cell except the names that
// `install` defines. `post(kind, name, payload)` is the only way out, the returned functions are the only way in.
(function prelude(post, config, modules) {
  const { apply, ownKeys, getOwnPropertyDescriptor, getPrototypeOf, defineProperty } = Reflect;
  const { setPrototypeOf } = Object;
  const { bind, call: callMethod } = Function.prototype;
  const uncurry = (fn) => apply(bind, callMethod, [fn]);
  const getter = (prototype, name) => uncurry(getOwnPropertyDescriptor(prototype, name).get);
  const { isArray } = Array;
  const { freeze, keys: objectKeys, is, prototype: ObjectPrototype } = Object;
  const { isFinite: isFiniteNumber } = Number;
  const { parse, stringify } = JSON;
  const ArrayPrototype = Array.prototype;
  const PromisePrototype = Promise.prototype;
  const mapSize = getter(Map.prototype, "size");
  const SafeSet = Set;
  const SafeMap = Map;
  const SafePromise = Promise;
  const SafeError = Error;
  const DateClass = Date;
  const { isError } = Error;
  const errorStack = getter(Error.prototype, "stack");
  const setSize = getter(Set.prototype, "size");
  const regExpSource = getter(RegExp.prototype, "source");
  const regExpFlags = getter(RegExp.prototype, "flags");
  const mapGet = uncurry(Map.prototype.get);
  const mapSet = uncurry(Map.prototype.set);
  const mapHas = uncurry(Map.prototype.has);
  const mapDelete = uncurry(Map.prototype.delete);
  const mapClear = uncurry(Map.prototype.clear);
  const mapForEach = uncurry(Map.prototype.forEach);
  const setAdd = uncurry(Set.prototype.add);
  const setHas = uncurry(Set.prototype.has);
  const setDelete = uncurry(Set.prototype.delete);
  const setForEach = uncurry(Set.prototype.forEach);
  const weakGet = uncurry(WeakMap.prototype.get);
  const weakSet = uncurry(WeakMap.prototype.set);
  const slice = uncurry(String.prototype.slice);
  const charCodeAt = uncurry(String.prototype.charCodeAt);
  const indexOf = uncurry(String.prototype.indexOf);
  const numberValue = uncurry(Number.prototype.valueOf);
  const stringValue = uncurry(String.prototype.valueOf);
  const booleanValue = uncurry(Boolean.prototype.valueOf);
  const symbolText = uncurry(Symbol.prototype.toString);
  const dateText = uncurry(Date.prototype.toISOString);
  const functionText = uncurry(Function.prototype.toString);
  /** A list without a prototype: neither a patched toJSON nor a setter on Array.prototype sees it. */
  const newList = () => setPrototypeOf([], null);
  const dataProperty = (value) => ({ __proto__: null, value, writable: true, enumerable: true, configurable: true });
  // Not `list[list.length] = value`: a setter on Array.prototype would see it.
  const append = (list, value) => defineProperty(list, list.length, dataProperty(value));
  const errorClasses = { __proto__: null, Error, TypeError, SyntaxError, RangeError };
  const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";

  // --- errors ---------------------------------------------------------------------------------------------------

  /** Errors that this file made, with what only it can vouch for: their code and suggestion. */
  const made = new WeakMap();

  function makeError(info) {
    const Class = errorClasses[info.name] ?? Error;
    const error = new Class(info.message);
    defineProperty(error, "code", dataProperty(info.code));
    if (typeof info.retriable === "boolean") defineProperty(error, "retriable", dataProperty(info.retriable));
    weakSet(made, error, info);
    return error;
  }

  const fail = (code, message, suggestion, name = "Error") => makeError({ name, code, message, suggestion });
  const argumentError = (message, suggestion) => fail("js_error", message, suggestion, "TypeError");

  /** A data property found on the value or its prototypes; accessors are not run. */
  function peekProperty(value, key) {
    for (let holder = value, depth = 0; holder !== null && depth < 16; holder = getPrototypeOf(holder), depth++) {
      const found = getOwnPropertyDescriptor(holder, key);
      if (found) return found.value;
    }
    return undefined;
  }

  /** The engine's own backtrace; a guest that formats stacks itself (prepareStackTrace) goes without. */
  function stackOf(value) {
    const stack = weakGet(made, value)?.stack ?? (isError(value) ? errorStack(value) : "");
    return typeof stack === "string" ? stack : "";
  }

  function classesOf(value) {
    const names = newList();
    if (!isError(value)) return names;
    for (let holder = getPrototypeOf(value), depth = 0; holder !== null && depth < 16; depth++) {
      const made = getOwnPropertyDescriptor(holder, "constructor")?.value;
      const name = typeof made === "function" ? getOwnPropertyDescriptor(made, "name")?.value : undefined;
      if (typeof name === "string") append(names, clip(name, 100));
      holder = getPrototypeOf(holder);
    }
    return names;
  }

  const clip = (text, length) => (text.length > length ? `${slice(text, 0, length)}…` : text);

  /** What the host learns of a thrown value, as JSON text. */
  function describe(thrown) {
    try {
      return described(thrown);
    } catch {
      const nothing = { __proto__: null, name: "", message: UNSHOWABLE, stack: "", classes: newList() };
      return stringify({ __proto__: null, thrown: "value", ...nothing });
    }
  }
  const UNSHOWABLE = "a value that cannot be shown";

  function described(thrown) {
    let name = "";
    let message = "";
    let stack = "";
    let known;
    if (isObject(thrown)) {
      known = weakGet(made, thrown);
      const text = (key) => {
        const value = peekProperty(thrown, key);
        return typeof value === "string" ? value : "";
      };
      name = text("name");
      message = text("message");
      stack = stackOf(thrown);
      if (!message && !isError(thrown)) message = inspect(thrown);
    } else {
      message = typeof thrown === "string" ? thrown : inspect(thrown);
    }
    return stringify({
      __proto__: null,
      thrown: thrown === null || thrown === undefined ? "nothing" : isError(thrown) ? "error" : "value",
      name: clip(name, 100),
      message: clip(message, config.messageUnits),
      stack: clip(stack, 16384),
      classes: classesOf(thrown),
      code: known?.code,
      suggestion: known?.suggestion,
    });
  }

  // --- values to JSON -------------------------------------------------------------------------------------------

  const MAX_DEPTH = 400;
  /** Arrays of plain numbers and strings count as one. About half a second. */
  const MAX_VALUES = 200_000;
  const { min } = Math;
  const isPlain = (value) => {
    const prototype = getPrototypeOf(value);
    return prototype === ObjectPrototype || prototype === ArrayPrototype || prototype === null;
  };
  const brand = (value, read) => {
    try {
      read(value);
      return true;
    } catch {
      return false;
    }
  };

  /** What JSON would silently lose about this value, or "" where it keeps it. */
  function lossOf(value) {
    switch (typeof value) {
      case "function":
        return "a function";
      case "symbol":
        return "a symbol";
      case "bigint":
        return "a BigInt";
      case "number":
        return isFiniteNumber(value) ? "" : `${value}`;
      case "object":
        if (value === null || isPlain(value)) return "";
        if (brand(value, mapSize)) return "a Map";
        if (brand(value, setSize)) return "a Set";
        if (brand(value, regExpSource)) return "a RegExp";
        return getPrototypeOf(value) === PromisePrototype ? "a Promise that was not awaited" : "";
      default:
        return "";
    }
  }

  /**
   * JSON text of a value by JSON.stringify's rules. What those rules would lose becomes null and is reported through
   * `lost(path, what)`. Stops storing at `room` UTF-16 units and goes on counting, for a bounded number of values.
   * Without `toJSON` the values are the prelude's own, and a patched toJSON is not asked.
   */
  function render(root, rootPath, room, lost, toJSON = true) {
    let json = "";
    let size = 0;
    let visits = 0;
    let lastVisit = MAX_VALUES;
    // The way to the value in hand: the containers that hold it, and at each depth the key.
    const open = new SafeSet();
    const trail = newList();

    function write(text) {
      size += text.length;
      if (size <= room) json += text;
      else lastVisit = min(lastVisit, visits + 20_000);
    }
    function pathTo(depth) {
      let path = rootPath;
      for (let i = 1; i <= depth; i++) {
        const key = trail[i];
        if (typeof key === "number") path += `[${key}]`;
        else path += isIdentifier(key) ? `.${key}` : `[${stringify(key)}]`;
      }
      return path;
    }
    function lose(depth, what) {
      lost(pathTo(depth), what);
      write("null");
    }
    /** The engine's own stringify is several times faster, and safe where no element can run code or be lost. */
    function flat(value) {
      let units = 0;
      for (let i = 0, length = value.length; i < length; i++) {
        const item = value[i];
        if (typeof item === "string") units += item.length;
        else if (typeof item === "number" ? !isFiniteNumber(item) : typeof item !== "boolean") return false;
      }
      if (size + units > room) return false;
      write(stringify(value));
      return true;
    }
    function elements(value, depth) {
      write("[");
      for (let i = 0, length = value.length; i < length && visits <= lastVisit; i++) {
        if (i > 0) write(",");
        trail[depth] = i;
        visit(value[i], "", depth);
      }
      write("]");
    }
    function members(value, depth) {
      const keys = objectKeys(value);
      let separator = "";
      write("{");
      for (let i = 0; i < keys.length && visits <= lastVisit; i++) {
        trail[depth] = keys[i];
        if (visit(value[keys[i]], `${separator}${stringify(keys[i])}:`, depth)) separator = ",";
      }
      write("}");
    }

    /** Writes `prefix` and the value; false where a member is left out, as JSON does with undefined. */
    function visit(given, prefix, depth) {
      visits++;
      let value = given;
      if (toJSON && typeof value === "object" && value !== null) {
        const convert = value.toJSON;
        if (typeof convert === "function") value = apply(convert, value, [depth > 0 ? `${trail[depth]}` : ""]);
      }
      if (value === undefined) {
        if (prefix !== "") return false;
        write("null");
        return true;
      }
      if (prefix !== "") write(prefix);
      if (typeof value === "string") write(size + value.length > room ? value : stringify(value));
      else if (value === null || typeof value === "boolean" || (typeof value === "number" && isFiniteNumber(value))) {
        write(`${value}`);
      } else container(value, depth);
      return true;
    }
    function container(value, depth) {
      if (typeof value !== "object" || !isPlain(value)) {
        const loss = lossOf(value);
        if (loss) return lose(depth, loss);
        if (brand(value, numberValue)) return visit(numberValue(value), "", depth);
        if (brand(value, stringValue)) return visit(stringValue(value), "", depth);
        if (brand(value, booleanValue)) return visit(booleanValue(value), "", depth);
      }
      if (setHas(open, value)) return lose(depth, "a cycle");
      if (depth >= MAX_DEPTH) return lose(depth, `nested deeper than ${MAX_DEPTH} levels`);
      const list = isArray(value);
      if (list && toJSON && value.toJSON === undefined && flat(value)) return;
      setAdd(open, value);
      if (list) elements(value, depth + 1);
      else members(value, depth + 1);
      setDelete(open, value);
    }

    visit(root, "", 0);
    const counted = visits <= lastVisit;
    return { json, size, counted, whole: counted && size <= room };
  }
  const identifier = /^[A-Za-z_$][\w$]*$/;
  const regExpTest = uncurry(RegExp.prototype.test);
  const isIdentifier = (key) => key.length < 100 && regExpTest(identifier, key);

  // --- calls out ------------------------------------------------------------------------------------------------

  const { isView } = ArrayBuffer;
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

  /** A value for a human reader: like JSON, shortened, with what JSON cannot say; accessors are not run. */
  function inspect(root) {
    try {
      return inspected(root);
    } catch {
      return `[${UNSHOWABLE}]`;
    }
  }

  function inspected(root) {
    let left = 500;
    const seen = new SafeSet();
    const list = (items, openText, closeText, indent) => {
      if (items.length === 0) return openText + closeText;
      let flat = `${openText} `;
      for (let i = 0; i < items.length; i++) flat += (i > 0 ? ", " : "") + items[i];
      if (flat.length <= 100 && indexOf(flat, "\n") < 0) {
        return openText === "[" ? `[${slice(flat, 2)}]` : `${flat} ${closeText}`;
      }
      let tall = openText;
      for (let i = 0; i < items.length; i++) tall += `${i > 0 ? "," : ""}\n${indent}  ${items[i]}`;
      return `${tall}\n${indent}${closeText}`;
    };
    function show(value, depth, indent) {
      if (typeof value === "string") return stringify(clip(value, 10_000));
      if (typeof value === "bigint") return `${value}n`;
      if (typeof value === "symbol") return symbolText(value);
      if (!isObject(value)) return is(value, -0) ? "-0" : `${value}`;
      if (left-- <= 0) return "…";
      if (typeof value === "function") {
        const name = peekProperty(value, "name");
        const kind = slice(functionText(value), 0, 5) === "class" ? "class" : "Function";
        return `[${kind}${typeof name === "string" && name ? ` ${name}` : ""}]`;
      }
      if (setHas(seen, value)) return "[Circular]";
      if (isError(value)) return `${text(value, "name") || "Error"}: ${text(value, "message")}`;
      if (brand(value, regExpSource)) return `/${regExpSource(value)}/${regExpFlags(value)}`;
      if (getPrototypeOf(value) === PromisePrototype) return "Promise {…}";
      if (depth > 4) return isArray(value) ? "[…]" : "{…}";
      setAdd(seen, value);
      const shown = members(value, depth, indent);
      setDelete(seen, value);
      return shown;
    }
    const text = (value, key) => {
      const found = peekProperty(value, key);
      return typeof found === "string" ? found : "";
    };
    function members(value, depth, indent) {
      const deeper = `${indent}  `;
      const items = [];
      if (brand(value, mapSize)) {
        mapForEach(value, (item, key) => {
          if (items.length < 100) append(items, `${show(key, depth + 1, deeper)} => ${show(item, depth + 1, deeper)}`);
        });
        return list(items, `Map(${mapSize(value)}) {`, "}", indent);
      }
      if (brand(value, setSize)) {
        setForEach(value, (item) => {
          if (items.length < 100) append(items, show(item, depth + 1, deeper));
        });
        return list(items, `Set(${setSize(value)}) {`, "}", indent);
      }
      if (value instanceof DateClass && brand(value, dateText)) return dateText(value);
      const keys = isArray(value) ? undefined : ownKeys(value);
      const length = keys ? keys.length : value.length;
      for (let i = 0; i < length; i++) {
        if (i === 100 || left <= 0) {
          append(items, `… ${length - i} more`);
          break;
        }
        const key = keys ? keys[i] : i;
        const found = getOwnPropertyDescriptor(value, key);
        if (!found || (keys && !found.enumerable)) {
          if (!keys) append(items, "empty");
          continue;
        }
        const item = found.get || found.set ? "[Getter]" : show(found.value, depth + 1, deeper);
        if (!keys) append(items, item);
        else if (typeof key === "symbol") append(items, `[${symbolText(key)}]: ${item}`);
        else append(items, `${isIdentifier(key) ? key : stringify(key)}: ${item}`);
      }
      return keys ? list(items, "{", "}", indent) : list(items, "[", "]", indent);
    }
    return show(root, 0, "");
  }

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
    /** Errors of that name, from the host, are made with this class. */
    errorClass: (name, Class) => {
      errorClasses[name] = Class;
    },
    builtin,
    install,
    constant,
    named,
    append,
    put: (list, index, value) => defineProperty(list, index, dataProperty(value)),
    isObject,
    objectKeys,
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
    pending() {
      const ids = newList();
      mapForEach(pending, (_entry, id) => append(ids, id));
      return stringify(ids);
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

  return { enter, finish, failed, describe, inject, rejected };
});
