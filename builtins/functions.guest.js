(function functions(guest) {
  const { defineProperty, getOwnPropertyDescriptor } = Object;
  const global = globalThis;
  const known = guest.newMap();

  guest.builtin("functions", () => guest.call("functions.list", []));

  /** Offers a name that a cell may take for itself. What the guest has by it already stays. */
  function offer(name) {
    if (!known.has(name)) {
      const call = guest.named(name, (...args) => guest.callAsync(`functions.${name}`, args));
      known.set(name, guest.constant(call));
      guest.lend(name, known.get(name));
    }
    if (getOwnPropertyDescriptor(global, name)) return;
    defineProperty(global, name, {
      __proto__: null,
      get: known.get(name),
      set: (value) => {
        guest.call("builtins.shadowed", [name]);
        defineProperty(global, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
      },
      enumerable: false,
      configurable: true,
    });
  }

  guest.command("functions.offer", () => {
    const names = guest.call("functions.names", []);
    for (let i = 0; i < names.length; i++) offer(names[i]);
  });
});
