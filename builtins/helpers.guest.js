(function helpers(guest) {
  const store = guest.newMap();
  /** Why helpers that failed are left out, by name: until they are added again or removed. */
  const aside = guest.newMap();
  let bytes = 0;

  const sizeOf = (name, code) => guest.utf8Length(name) + guest.utf8Length(code);

  const api = {
    add(name, code) {
      const limit = guest.call("helpers.check", [name, code]);
      const before = store.has(name) ? sizeOf(name, store.get(name)) : 0;
      const after = bytes - before + sizeOf(name, code);
      if (after > limit) {
        throw guest.fail(
          "helper_limit_exceeded",
          `helpers would hold ${after} bytes (limit ${limit})`,
          "Remove helpers that are no longer used: helpers.remove(name).",
        );
      }
      store.set(name, code);
      aside.delete(name);
      bytes = after;
    },
    list() {
      const list = [];
      store.forEach((code, name) => {
        guest.append(list, aside.has(name) ? { name, code, set_aside: aside.get(name) } : { name, code });
      });
      return list;
    },
    remove(name) {
      if (!store.has(name)) return false;
      bytes -= sizeOf(name, store.get(name));
      aside.delete(name);
      return store.delete(name);
    },
  };

  for (const name of ["add", "list", "remove"]) guest.constant(guest.named(name, api[name]))();
  guest.install("helpers", guest.constant({ ...api }));
  guest.manifest(() => {
    const names = [];
    store.forEach((_code, name) => {
      guest.append(names, name);
    });
    return { helpers: names };
  });
  guest.command("helpers", ({ op, name, code }) => guest.encode(api[op](name, code)));
  guest.command("helpers.sources", () => {
    const list = [];
    store.forEach((code, name) => {
      guest.append(list, aside.has(name) ? { name, code, aside: aside.get(name) } : { name, code });
    });
    return guest.encode(list);
  });
  guest.command("helpers.aside", ({ name, why }) => {
    if (store.has(name)) aside.set(name, why);
  });
});
