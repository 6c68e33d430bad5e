// Errors made for cells, and errors of cells as the host learns of them.
(function errors(config, own, kit) {
  const {
    getOwnPropertyDescriptor,
    getPrototypeOf,
    defineProperty,
    stringify,
    isError,
    errorStack,
    weakGet,
    weakSet,
    newList,
    dataProperty,
    append,
    isObject,
    brand,
    clip,
    peekProperty,
    inspect,
    messageOf,
    UNSHOWABLE,
  } = kit;

  /** Classes of the language. Those of builtins are in `own`. */
  const errorClasses = { __proto__: null, Error, TypeError, SyntaxError, RangeError };

  /** Errors that this file made, with what only it can vouch for: their code and suggestion. */
  const made = new WeakMap();

  function makeError(info) {
    const Class = errorClasses[info.name] ?? own[info.name] ?? Error;
    const error = new Class(info.message);
    defineProperty(error, "code", dataProperty(info.code));
    if (typeof info.retriable === "boolean") defineProperty(error, "retriable", dataProperty(info.retriable));
    weakSet(made, error, info);
    return error;
  }

  const fail = (code, message, suggestion, name = "Error") => makeError({ name, code, message, suggestion });
  const argumentError = (message, suggestion) => fail("js_error", message, suggestion, "TypeError");

  /** The engine's own backtrace; a guest that formats stacks itself (prepareStackTrace) goes without. */
  function stackOf(value) {
    const own = () => (brand(value, errorStack) ? errorStack(value) : undefined) ?? peekProperty(value, "stack");
    const stack = weakGet(made, value)?.stack ?? (isError(value) ? own() : "");
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

  /** The host's view of a thrown value, as JSON text. */
  function describe(thrown) {
    try {
      return described(thrown);
    } catch {
      const nothing = { __proto__: null, name: "", message: UNSHOWABLE, stack: "", classes: newList() };
      return stringify({ __proto__: null, thrown: "value", ...nothing });
    }
  }

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
      message = isError(thrown) ? messageOf(thrown) : text("message");
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

  return { __proto__: null, makeError, fail, argumentError, describe, stackOf };
});
