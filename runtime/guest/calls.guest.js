// Calls of host functions that answer at once.
(function calls(post, kit) {
  const {
    setPrototypeOf,
    isFiniteNumber,
    parse,
    stringify,
    regExpSource,
    regExpFlags,
    slice,
    isView,
    brand,
    render,
    makeError,
    argumentError,
  } = kit;

  /** The common case: nothing in it runs code or is lost. */
  function allPlain(args) {
    for (let i = 0; i < args.length; i++) {
      const value = args[i];
      if (
        typeof value === "string"
          ? value.length > MAX_ARGUMENT_UNITS
          : typeof value !== "number" || !isFiniteNumber(value)
      ) {
        return false;
      }
    }
    return true;
  }
  /** More than any builtin takes: the largest is a value for memory, 5 MB. */
  const MAX_ARGUMENT_UNITS = 16 * 1024 * 1024;

  /** Arguments as a JSON array. A RegExp goes as { source, flags }; what JSON would lose is an error here. */
  function marshal(name, args) {
    if (allPlain(args)) return stringify(setPrototypeOf(args, null));
    let json = "[";
    let last = args.length - 1;
    while (last >= 0 && args[last] === undefined) last--;
    for (let i = 0; i <= last; i++) {
      let value = args[i];
      if (typeof value === "object" && value !== null && brand(value, regExpSource)) {
        value = { __proto__: null, source: regExpSource(value), flags: regExpFlags(value) };
      }
      const argument = `argument ${i + 1}`;
      if (isView(value)) throw argumentError(`${name}: ${argument} is a typed array`, "Pass plain JSON values.");
      const { json: text, whole } = render(value, argument, MAX_ARGUMENT_UNITS, (path, what) => {
        const cure = what === "a cycle" ? "Pass plain data without a reference to itself." : "Pass plain JSON values.";
        throw argumentError(`${name}: ${path} is ${what}`, cure);
      });
      if (!whole) throw argumentError(`${name}: ${argument} is too large`, "Pass less at once.");
      json += i > 0 ? `,${text}` : text;
    }
    return `${json}]`;
  }

  /** Replies are one letter and a payload: `s` a string, `j` JSON, `e` an error as JSON. */
  function open(reply) {
    const payload = slice(reply, 1);
    switch (reply[0]) {
      case "s":
        return payload;
      case "j":
        return parse(payload);
      default:
        throw makeError(parse(payload));
    }
  }

  const call = (name, args) => open(post("sync", name, marshal(name, args)));

  return { __proto__: null, marshal, open, call };
});
