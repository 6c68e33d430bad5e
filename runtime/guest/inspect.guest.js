// Values for a human reader.
(function inspector(kit) {
  const {
    ownKeys,
    objectKeys,
    newList,
    getOwnPropertyDescriptor,
    getPrototypeOf,
    isArray,
    is,
    stringify,
    PromisePrototype,
    mapSize,
    SafeSet,
    DateClass,
    isError,
    setSize,
    regExpSource,
    regExpFlags,
    mapForEach,
    setAdd,
    setHas,
    setDelete,
    setForEach,
    slice,
    indexOf,
    symbolText,
    dateText,
    isInvalidDate,
    functionText,
    append,
    isObject,
    clip,
    isIdentifier,
    brand,
    peekProperty,
    labels,
    weakGet,
  } = kit;

  const UNSHOWABLE = "a value that cannot be shown";

  /**
   * A value for a human reader: like JSON, shortened, with what JSON cannot say; accessors are not run. `rounded` gets each number
   * in it that looks like a rounded id.
   */
  function inspect(root, rounded = () => {}) {
    try {
      return inspected(root, rounded);
    } catch {
      return `[${UNSHOWABLE}]`;
    }
  }

  const text = (value, key) => {
    const found = peekProperty(value, key);
    return typeof found === "string" ? found : "";
  };

  /** The keys of an object that are written. Name and message of an error, and what is in it, are not enumerable. */
  function keysOf(value) {
    const keys = objectKeys(value);
    if (!isError(value)) return keys;
    const all = newList();
    append(all, "name");
    append(all, "message");
    for (const key of ["cause", "errors"]) if (getOwnPropertyDescriptor(value, key)) append(all, key);
    for (let i = 0; i < keys.length; i++) if (!includes(all, keys[i])) append(all, keys[i]);
    return all;
  }

  function includes(list, wanted) {
    for (let i = 0; i < list.length; i++) if (list[i] === wanted) return true;
    return false;
  }

  /** The message of an error, with those of the errors that it holds: `step 3 (cause: too many requests)`. */
  function messageOf(error, depth = 0) {
    const message = text(error, "message");
    if (depth > 3) return message;
    const within = [];
    const errors = peekProperty(error, "errors");
    if (isArray(errors)) {
      for (let i = 0; i < errors.length && i < 5; i++) append(within, innerText(errors[i], depth));
      if (errors.length > 5) append(within, `… ${errors.length - 5} more`);
    }
    const cause = getOwnPropertyDescriptor(error, "cause");
    if (cause && "value" in cause) append(within, `cause: ${innerText(cause.value, depth)}`);
    let inner = "";
    for (let i = 0; i < within.length; i++) inner += (i > 0 ? ", " : "") + within[i];
    if (inner === "" || message === "") return message + inner;
    return `${message} (${inner})`;
  }

  function innerText(value, depth) {
    if (!isError(value)) return clip(typeof value === "string" ? value : inspect(value), 200);
    const name = text(value, "name");
    const message = clip(messageOf(value, depth + 1), 500);
    return name === "" || name === "Error" ? message || "Error" : `${name}: ${message}`;
  }

  /** True for a whole number beyond 2^53 with 16 digits or more before its zeros. */
  function looksRounded(value) {
    if (typeof value !== "number" || !((value > 2 ** 53 && value < 1e21) || (value < -(2 ** 53) && value > -1e21))) {
      return false;
    }
    const digits = `${value < 0 ? -value : value}`;
    let length = digits.length;
    while (digits[length - 1] === "0") length--;
    return length >= 16;
  }

  function inspected(root, rounded) {
    let left = 500;
    const seen = new SafeSet();
    const list = (items, openText, closeText, indent) => {
      if (items.length === 0) return openText + closeText;
      let flat = `${openText} `;
      for (let i = 0; i < items.length; i++) flat += (i > 0 ? ", " : "") + items[i];
      if (flat.length <= 100 && indexOf(flat, "\n") < 0) {
        return openText === "[" ? `[${slice(flat, 2)}]` : `${flat} ${closeText}`;
      }
      let tall = openText;
      for (let i = 0; i < items.length; i++) tall += `${i > 0 ? "," : ""}\n${indent}  ${items[i]}`;
      return `${tall}\n${indent}${closeText}`;
    };
    function show(value, depth, indent) {
      if (typeof value === "string") return stringify(clip(value, 10_000));
      if (typeof value === "bigint") return `${value}n`;
      if (typeof value === "symbol") return symbolText(value);
      if (looksRounded(value)) rounded(value);
      if (!isObject(value)) return is(value, -0) ? "-0" : `${value}`;
      if (left-- <= 0) return "…";
      if (typeof value === "function") {
        const name = peekProperty(value, "name");
        const kind = slice(functionText(value), 0, 5) === "class" ? "class" : "Function";
        return `[${kind}${typeof name === "string" && name ? ` ${name}` : ""}]`;
      }
      if (setHas(seen, value)) return "[Circular]";
      if (isError(value)) return `${text(value, "name") || "Error"}: ${messageOf(value)}`;
      if (weakGet(labels, value)) return weakGet(labels, value)();
      if (brand(value, regExpSource)) return `/${regExpSource(value)}/${regExpFlags(value)}`;
      if (getPrototypeOf(value) === PromisePrototype) return "Promise {…}";
      if (depth > 4) return isArray(value) ? "[…]" : "{…}";
      setAdd(seen, value);
      const shown = members(value, depth, indent);
      setDelete(seen, value);
      return shown;
    }
    function members(value, depth, indent) {
      const deeper = `${indent}  `;
      const items = [];
      if (brand(value, mapSize)) {
        mapForEach(value, (item, key) => {
          if (items.length < 100) append(items, `${show(key, depth + 1, deeper)} => ${show(item, depth + 1, deeper)}`);
        });
        if (mapSize(value) > 100) append(items, `… ${mapSize(value) - 100} more`);
        return list(items, `Map(${mapSize(value)}) {`, "}", indent);
      }
      if (brand(value, setSize)) {
        setForEach(value, (item) => {
          if (items.length < 100) append(items, show(item, depth + 1, deeper));
        });
        if (setSize(value) > 100) append(items, `… ${setSize(value) - 100} more`);
        return list(items, `Set(${setSize(value)}) {`, "}", indent);
      }
      if (value instanceof DateClass && brand(value, dateText)) return dateText(value);
      if (value instanceof DateClass && isInvalidDate(value)) return "Invalid Date";
      const keys = isArray(value) ? undefined : ownKeys(value);
      const length = keys ? keys.length : value.length;
      for (let i = 0; i < length; i++) {
        if (i === 100 || left <= 0) {
          append(items, `… ${length - i} more`);
          break;
        }
        const key = keys ? keys[i] : i;
        const found = getOwnPropertyDescriptor(value, key);
        if (!found || (keys && !found.enumerable)) {
          if (!keys) append(items, "empty");
          continue;
        }
        const item = found.get || found.set ? "[Getter]" : show(found.value, depth + 1, deeper);
        if (!keys) append(items, item);
        else if (typeof key === "symbol") append(items, `[${symbolText(key)}]: ${item}`);
        else append(items, `${isIdentifier(key) ? key : stringify(key)}: ${item}`);
      }
      return keys ? list(items, "{", "}", indent) : list(items, "[", "]", indent);
    }
    return show(root, 0, "");
  }

  return { __proto__: null, inspect, messageOf, keysOf, UNSHOWABLE };
});
