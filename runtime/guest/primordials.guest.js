// Everything of the guest's own language that the prelude uses, captured before any cell runs: a cell may replace it.
(function primordials() {
  const { apply, ownKeys, getOwnPropertyDescriptor, getPrototypeOf, defineProperty } = Reflect;
  const { setPrototypeOf } = Object;
  const { bind, call: callMethod } = Function.prototype;
  const uncurry = (fn) => apply(bind, callMethod, [fn]);
  const getter = (prototype, name) => uncurry(getOwnPropertyDescriptor(prototype, name).get);
  const { isArray } = Array;
  const { freeze, keys: objectKeys, is, prototype: ObjectPrototype } = Object;
  const { isFinite: isFiniteNumber } = Number;
  const { parse, stringify } = JSON;
  const ArrayPrototype = Array.prototype;
  const PromisePrototype = Promise.prototype;
  const mapSize = getter(Map.prototype, "size");
  const SafeSet = Set;
  const SafeMap = Map;
  const SafePromise = Promise;
  const SafeError = Error;
  const DateClass = Date;
  const { isError } = Error;
  const errorStack = getter(Error.prototype, "stack");
  const setSize = getter(Set.prototype, "size");
  const regExpSource = getter(RegExp.prototype, "source");
  const regExpFlags = getter(RegExp.prototype, "flags");
  const mapGet = uncurry(Map.prototype.get);
  const mapSet = uncurry(Map.prototype.set);
  const mapHas = uncurry(Map.prototype.has);
  const mapDelete = uncurry(Map.prototype.delete);
  const mapClear = uncurry(Map.prototype.clear);
  const mapForEach = uncurry(Map.prototype.forEach);
  const setAdd = uncurry(Set.prototype.add);
  const setHas = uncurry(Set.prototype.has);
  const setDelete = uncurry(Set.prototype.delete);
  const setForEach = uncurry(Set.prototype.forEach);
  const weakGet = uncurry(WeakMap.prototype.get);
  const weakSet = uncurry(WeakMap.prototype.set);
  const slice = uncurry(String.prototype.slice);
  const padEnd = uncurry(String.prototype.padEnd);
  const repeat = uncurry(String.prototype.repeat);
  const charCodeAt = uncurry(String.prototype.charCodeAt);
  const indexOf = uncurry(String.prototype.indexOf);
  const numberValue = uncurry(Number.prototype.valueOf);
  const stringValue = uncurry(String.prototype.valueOf);
  const booleanValue = uncurry(Boolean.prototype.valueOf);
  const { prototype: DOMExceptionPrototype } = DOMException;
  const symbolText = uncurry(Symbol.prototype.toString);
  const dateText = uncurry(Date.prototype.toISOString);
  const dateNumber = uncurry(Date.prototype.getTime);
  const functionText = uncurry(Function.prototype.toString);
  /** A list without a prototype: neither a patched toJSON nor a setter on Array.prototype sees it. */
  const newList = () => setPrototypeOf([], null);
  const dataProperty = (value) => ({ __proto__: null, value, writable: true, enumerable: true, configurable: true });
  // Not `list[list.length] = value`: a setter on Array.prototype would see it.
  const append = (list, value) => defineProperty(list, list.length, dataProperty(value));
  const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";
  const { min } = Math;
  const { isView } = ArrayBuffer;
  const regExpTest = uncurry(RegExp.prototype.test);

  // What every part needs.

  const clip = (text, length) => (text.length > length ? `${slice(text, 0, length)}…` : text);
  const identifier = /^[A-Za-z_$][\w$]*$/;
  const isIdentifier = (key) => key.length < 100 && regExpTest(identifier, key);
  const brand = (value, read) => {
    try {
      read(value);
      return true;
    } catch {
      return false;
    }
  };

  const isInvalidDate = (value) => brand(value, dateNumber) && !isFiniteNumber(dateNumber(value));

  /** True for an object or a list of no class. */
  const isPlain = (value) => {
    const prototype = getPrototypeOf(value);
    return prototype === ObjectPrototype || prototype === ArrayPrototype || prototype === null;
  };

  /** Functions that show objects with private parts, by the object. */
  const labels = new WeakMap();

  /** Name and message of the engine's own errors, which are accessors: by key, the accessor and a safe call of it. */
  const ofDOMException = { __proto__: null };
  for (const key of ["name", "message"]) {
    const { get } = getOwnPropertyDescriptor(DOMExceptionPrototype, key);
    ofDOMException[key] = { __proto__: null, get, read: uncurry(get) };
  }

  /** A data property found on the value or its prototypes; accessors of a guest are not run. */
  function peekProperty(value, key) {
    for (let holder = value, depth = 0; holder !== null && depth < 16; holder = getPrototypeOf(holder), depth++) {
      const found = getOwnPropertyDescriptor(holder, key);
      if (!found) continue;
      const native = ofDOMException[key];
      const isNative = found.get !== undefined && native?.get === found.get && brand(value, native.read);
      return isNative ? native.read(value) : found.value;
    }
    return undefined;
  }

  /** True for an Error, and for a DOMException, which the engine does not count as one. */
  const isThrowable = (value) =>
    isError(value) ||
    (isObject(value) && getPrototypeOf(value) === DOMExceptionPrototype && brand(value, ofDOMException.name.read));

  return {
    __proto__: null,
    apply,
    uncurry,
    labels,
    ownKeys,
    getOwnPropertyDescriptor,
    getPrototypeOf,
    defineProperty,
    setPrototypeOf,
    isArray,
    freeze,
    objectKeys,
    is,
    ObjectPrototype,
    isFiniteNumber,
    parse,
    stringify,
    ArrayPrototype,
    PromisePrototype,
    mapSize,
    SafeSet,
    SafeMap,
    SafePromise,
    SafeError,
    DateClass,
    isError: isThrowable,
    errorStack,
    setSize,
    regExpSource,
    regExpFlags,
    mapGet,
    mapSet,
    mapHas,
    mapDelete,
    mapClear,
    mapForEach,
    setAdd,
    setHas,
    setDelete,
    setForEach,
    weakGet,
    weakSet,
    slice,
    padEnd,
    repeat,
    charCodeAt,
    indexOf,
    numberValue,
    stringValue,
    booleanValue,
    symbolText,
    dateText,
    isInvalidDate,
    functionText,
    newList,
    dataProperty,
    append,
    isObject,
    min,
    isView,
    regExpTest,
    clip,
    isIdentifier,
    brand,
    isPlain,
    peekProperty,
  };
});
