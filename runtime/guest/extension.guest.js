// Builtins that a guest of an earlier version lacks: installed when its image is opened. What the guest has by such a name
// stays its own.
(function extension(config, own, modules, kit) {
  const { getOwnPropertyDescriptor, builtin, call } = kit;
  const isMissing = (name) => !getOwnPropertyDescriptor(own, name);

  for (const name of config.sync) if (isMissing(name)) builtin(name, (...args) => call(name, args));
  for (const [name, module] of modules) if (isMissing(name)) module(kit);
});
