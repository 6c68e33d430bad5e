// The names by which cells reach builtins. `config.younger` are those that a cell or helper may take for itself. `own` holds
// every builtin for guest code of the host's own: whatever a cell declares, there it is the builtin.
(function names(config, own, kit) {
  const { defineProperty, getOwnPropertyDescriptor, freeze, dataProperty, ownKeys, fail, call } = kit;
  const global = globalThis;

  /** The getters of younger builtins by name, and which of them a cell or helper has once taken. */
  const younger = { __proto__: null };
  const taken = { __proto__: null };

  function install(name, get) {
    defineProperty(own, name, { __proto__: null, get });
    for (let i = 0; i < config.younger.length; i++) {
      if (config.younger[i] === name) {
        younger[name] = get;
        return offer(name);
      }
    }
    defineProperty(global, name, {
      __proto__: null,
      get,
      set: () => {
        throw fail("js_error", `${name} is read-only`, `${name} is a builtin: use another name.`, "TypeError");
      },
      enumerable: false,
      configurable: false,
    });
  }

  /** Installs a name that a declaration or an assignment replaces, unless the guest has something by it. */
  function offer(name) {
    if (getOwnPropertyDescriptor(global, name)) return;
    defineProperty(global, name, {
      __proto__: null,
      get: younger[name],
      set: (value) => {
        shadow(name);
        defineProperty(global, name, dataProperty(value));
      },
      enumerable: false,
      configurable: true,
    });
  }

  /** The running cell, or a helper, declares this name: it is no builtin from here on. */
  function shadow(name) {
    const get = younger[name];
    if (!get || getOwnPropertyDescriptor(global, name)?.get !== get) return;
    delete global[name];
    if (taken[name]) return;
    taken[name] = true;
    call("builtins.shadowed", [name]);
  }

  /** A name that nothing holds any more is a builtin again: the helper that had it was removed. */
  function unshadow() {
    for (const name in younger) offer(name);
  }

  /** Every builtin by its name, and what a program lends, whatever a cell has declared. */
  function everything() {
    const all = { __proto__: null };
    const add = (from) => {
      const names = ownKeys(from);
      for (let i = 0; i < names.length; i++) {
        const { get } = getOwnPropertyDescriptor(from, names[i]);
        defineProperty(all, names[i], { __proto__: null, get, enumerable: true });
      }
    };
    add(own);
    add(lent);
    return freeze(all);
  }
  const lent = { __proto__: null };
  const lend = (name, get) => defineProperty(lent, name, { __proto__: null, get, configurable: true });

  /** Adds a global of the language: a cell may have it otherwise, and nothing is said. */
  const define = (name, value) => defineProperty(global, name, { ...dataProperty(value), enumerable: false });

  const constant = (value) => {
    freeze(value);
    return () => value;
  };
  const named = (name, fn) => {
    defineProperty(fn, "name", { __proto__: null, value: name });
    return fn;
  };
  const builtin = (name, fn) => install(name, constant(named(name, fn)));

  return { __proto__: null, global, install, constant, named, builtin, shadow, unshadow, everything, lend, define };
});
