// What guest modules work with: the object that each of them is given.
(function modules(post, kit) {
  const { SafeMap, mapGet, mapSet, mapHas, mapDelete, mapClear, mapForEach } = kit;
  const { defineProperty, dataProperty, newList, append, charCodeAt, parse, render, isObject } = kit;
  const { call, callAsync, fail, argumentError, builtin, install, lend, constant, named } = kit;

  /** Bytes of a text in UTF-8. Counts short ASCII here, and asks the host for anything else. */
  function utf8Length(text) {
    if (text.length > 100) return +post("bytes", "", text);
    for (let i = 0; i < text.length; i++) if (charCodeAt(text, i) > 127) return +post("bytes", "", text);
    return text.length;
  }

  /** A map whose methods a cell cannot replace. */
  function newMap() {
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
  }

  const commands = { __proto__: null };
  const manifests = newList();

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
    builtin,
    install,
    /** Makes a name that is not a builtin's one of `builtins`. */
    lend,
    constant,
    named,
    append,
    put: (list, index, value) => defineProperty(list, index, dataProperty(value)),
    isObject,
    utf8Length,
    text: (name) => post("text", name, ""),
    newMap,
    newList,
    /** The host calls `name` with one JSON value and gets JSON text back. */
    command: (name, run) => {
      commands[name] = run;
    },
    /** Adds fields to what `session()` tells. */
    manifest: (fields) => append(manifests, fields),
    manifests() {
      let all = { __proto__: null };
      for (let i = 0; i < manifests.length; i++) all = { __proto__: null, ...all, ...manifests[i]() };
      return all;
    },
  };

  return { __proto__: null, guest, commands };
});
