// structuredClone.
(function clone(kit) {
  const { labels, weakGet, define, isError, peekProperty, dataProperty, defineProperty } = kit;

  const refuse = (what) => {
    throw new DOMException(`${what} cannot be cloned`, "DataCloneError");
  };
  const ERRORS = { __proto__: null, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
  const PRIMITIVES = [Number, String, Boolean, BigInt];
  const UNCLONEABLE = [WeakMap, WeakSet, WeakRef, FinalizationRegistry, Promise, Symbol];

  function copied(value, seen) {
    if (typeof value === "symbol") refuse(`${String(value)}`);
    if (typeof value === "function") refuse(`the function ${value.name || "without a name"}`);
    if (typeof value !== "object" || value === null) return value;
    if (!seen.has(value)) {
      // A copy is known before its members are copied: they may refer to it.
      const copy = shell(value, seen);
      seen.set(value, copy);
      fill(copy, value, seen);
    }
    return seen.get(value);
  }

  /** The copy of an object without its members. */
  function shell(value, seen) {
    if (Array.isArray(value)) return new Array(value.length);
    if (isError(value)) return errorShell(value);
    if (value instanceof ArrayBuffer) return value.slice(0);
    if (ArrayBuffer.isView(value)) {
      const { buffer, byteOffset, length, byteLength } = value;
      const Class = globalThis[value[Symbol.toStringTag]];
      return new Class(copied(buffer, seen), byteOffset, length ?? byteLength);
    }
    if (value instanceof Map) return new Map();
    if (value instanceof Set) return new Set();
    if (value instanceof RegExp) return new RegExp(value);
    if (value instanceof Date) return new Date(value.getTime());
    if (PRIMITIVES.some((Class) => value instanceof Class)) return Object(value.valueOf());
    if (weakGet(labels, value) || UNCLONEABLE.some((Class) => value instanceof Class))
      refuse(`a ${value.constructor.name}`);
    return {};
  }

  function errorShell(value) {
    const Class = ERRORS[value.name] ?? Error;
    const message = peekProperty(value, "message");
    const copy = message ? new Class(message) : new Class();
    const keep = (key, kept) => defineProperty(copy, key, { ...dataProperty(kept), enumerable: false });
    if (typeof value.stack === "string") keep("stack", value.stack);
    return copy;
  }

  function fill(copy, value, seen) {
    if (value instanceof Map) {
      for (const [key, item] of [...value]) copy.set(copied(key, seen), copied(item, seen));
    } else if (value instanceof Set) {
      for (const item of [...value]) copy.add(copied(item, seen));
    } else if (isError(value)) {
      if (!Object.hasOwn(value, "cause")) return;
      defineProperty(copy, "cause", { ...dataProperty(copied(value.cause, seen)), enumerable: false });
    } else if (Array.isArray(value) || Object.prototype.toString.call(copy) === "[object Object]") {
      for (const key of Object.keys(value)) defineProperty(copy, key, dataProperty(copied(value[key], seen)));
    }
  }

  function structuredClone(...args) {
    const [value, { transfer = [] } = {}] = args;
    if (args.length === 0) throw new TypeError("structuredClone takes a value");
    const seen = new Map();
    for (const buffer of transfer) {
      if (!(buffer instanceof ArrayBuffer)) refuse("what is to be transferred and is not an ArrayBuffer");
      seen.set(buffer, buffer.slice(0));
    }
    const copy = copied(value, seen);
    for (const buffer of transfer) buffer.transfer();
    return copy;
  }
  define("structuredClone", structuredClone);
  return null;
});
