// What a cell answers: `result` and `result_meta`, or the value of its last expression statement.
(function cellResult(post, config, kit) {
  const { global, defineProperty, getOwnPropertyDescriptor, stringify, isObject, newList, append, clip, render } = kit;
  const { fail, describe } = kit;

  /** `result` and `result_meta` are kept here, so that no cell can freeze or redefine them. */
  const results = { __proto__: null, result: undefined, result_meta: undefined };
  for (const name of ["result", "result_meta"]) {
    defineProperty(global, name, {
      __proto__: null,
      get: () => results[name],
      set: (value) => {
        results[name] = value;
      },
      enumerable: false,
      configurable: false,
    });
  }

  function clearResults() {
    results.result = undefined;
    results.result_meta = undefined;
  }

  /** The cell has ended: hands over `result` if the cell set it, else the completion value if the cell has one. */
  async function finish(completion) {
    try {
      let value = answerOf(completion);
      if (isObject(value)) value = await value;
      let meta = results.result_meta;
      if (isObject(meta)) meta = await meta;
      post("done", "ok", stringify(rendered(value, meta)));
    } catch (error) {
      failed(error);
    }
  }

  /** @param completion what the engine gives for the script: an object that holds its value */
  function answerOf(completion) {
    if (results.result !== undefined || !config.completion) return results.result;
    const last = isObject(completion) ? getOwnPropertyDescriptor(completion, "value") : undefined;
    if (last) return last.value;
    throw fail("js_error", "the cell's value was lost: Object.prototype was changed", "Assign to result.");
  }

  /** Posts the JSON of the result in parts and returns what the host must know of it. */
  function rendered(value, meta) {
    const lost = newList();
    const note = (path, what, as = "null") => {
      const said = path === "result" && what === "a function" ? "a function that nothing called" : what;
      if (as !== "number" && lost.length < 20) append(lost, { __proto__: null, path: clip(path, 200), what: said, as });
    };
    const room = +post("room", "", "");
    const result = render(value, "result", room, note, true, (part) => post("part", "", part));
    const resultMeta = meta === undefined ? undefined : render(meta, "result_meta", room, note);
    return {
      __proto__: null,
      isWhole: result.whole,
      meta: resultMeta?.whole ? resultMeta.json : null,
      size: result.size + (resultMeta?.size ?? 0),
      counted: result.counted && resultMeta?.counted !== false,
      lost,
    };
  }

  function failed(error) {
    post("done", "error", describe(error));
  }

  return { __proto__: null, clearResults, finish, failed };
});
