// Calls of host functions that answer later.
(function asyncCalls(post, config, kit) {
  const { SafePromise, SafeError, SafeMap, mapGet, mapSet, mapDelete, mapClear, makeError, stackOf, marshal, open } =
    kit;

  /** The calls that have no answer yet, by their ids. */
  const pending = new SafeMap();

  function callAsync(name, args) {
    return new SafePromise((resolve, reject) => {
      // The error of a failed call comes from the host and has no stack, so the place of the call is kept for it.
      const stack = stackOf(new SafeError(""));
      if (config.sites) post("site", "", stack);
      const id = open(post("call", name, marshal(name, args)));
      mapSet(pending, id, { __proto__: null, resolve, reject, stack });
    });
  }

  /** Gives a call its answer, `{ id, value }` or `{ id, error }`. Returns false if the call is not one of these. */
  function settle(answer) {
    const entry = mapGet(pending, answer.id);
    if (!entry) return false;
    mapDelete(pending, answer.id);
    if (answer.error) entry.reject(makeError({ __proto__: null, ...answer.error, stack: entry.stack }));
    else entry.resolve(answer.value);
    return true;
  }

  const forgetCalls = () => mapClear(pending);

  return { __proto__: null, callAsync, settle, forgetCalls };
});
