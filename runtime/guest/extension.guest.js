// Brings a guest of an earlier version the builtins that it lacks, when its image is opened. What the guest has by such a
// name stays its own. `older` has the functions of its prelude that the host enters by.
(function extension(config, own, modules, older, kit) {
  const { getOwnPropertyDescriptor, objectKeys, parse, describe } = kit;
  const { call, callAsync, settle, forgetCalls, builtin, shadow, unshadow, guest, commands } = kit;

  let hasMore = false;
  function add(name, install) {
    if (getOwnPropertyDescriptor(own, name)) return;
    install();
    hasMore = true;
  }
  for (const name of config.sync) add(name, () => builtin(name, (...args) => call(name, args)));
  for (const name of config.async) add(name, () => builtin(name, (...args) => callAsync(name, args)));
  for (const [name, module] of modules) add(name, () => module(guest));
  if (!hasMore) return older;

  /** Steps that the older prelude does for what is its own, and this for what was added. */
  const also = {
    __proto__: null,
    begin(options) {
      config.sites = options.sites;
      unshadow();
      for (let i = 0; i < options.shadows.length; i++) shadow(options.shadows[i]);
    },
    drop: forgetCalls,
  };

  function enter(name, payload) {
    try {
      if (name === "settle" && settle(parse(payload))) return "jnull";
      if (commands[name]) return `j${commands[name](payload === "" ? undefined : parse(payload)) ?? "null"}`;
      const answer = older.enter(name, payload);
      if (answer[0] === "j") also[name]?.(payload === "" ? undefined : parse(payload));
      return answer;
    } catch (error) {
      return `e${describe(error)}`;
    }
  }

  /** Globals that helpers define. */
  function inject(names) {
    const keys = objectKeys(names);
    for (let i = 0; i < keys.length; i++) shadow(keys[i]);
    older.inject(names);
  }

  return { enter, inject };
});
