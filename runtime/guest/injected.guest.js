// Globals that the scripts before a cell define (helpers): taken away before the next cell defines them anew.
(function injected(kit) {
  const { global, shadow, defineProperty, getOwnPropertyDescriptor, objectKeys, dataProperty, newList, append } = kit;

  let injectedNames = newList();

  function inject(names) {
    const keys = objectKeys(names);
    for (let i = 0; i < keys.length; i++) {
      const name = keys[i];
      shadow(name);
      const current = getOwnPropertyDescriptor(global, name);
      append(injectedNames, name);
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

  function removeInjected() {
    for (let i = 0; i < injectedNames.length; i++) {
      const found = getOwnPropertyDescriptor(global, injectedNames[i]);
      if (found?.configurable) delete global[injectedNames[i]];
      else if (found?.writable) global[injectedNames[i]] = undefined;
    }
    injectedNames = newList();
  }

  return { __proto__: null, inject, removeInjected };
});
