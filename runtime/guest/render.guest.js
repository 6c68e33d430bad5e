// Values to JSON text, under the guest's limits.
(function renderer(kit) {
  const {
    apply,
    getPrototypeOf,
    isArray,
    objectKeys,
    isFiniteNumber,
    stringify,
    ObjectPrototype,
    ArrayPrototype,
    PromisePrototype,
    mapSize,
    SafeSet,
    setSize,
    regExpSource,
    setAdd,
    setHas,
    setDelete,
    numberValue,
    stringValue,
    booleanValue,
    newList,
    min,
    slice,
    charCodeAt,
    append,
    isIdentifier,
    brand,
  } = kit;

  const MAX_DEPTH = 400;
  /** Arrays of plain numbers and strings count as one. About half a second. */
  const MAX_VALUES = 200_000;
  /** Where more is wanted than this, only the time of the exec limits the number of values. */
  const USUAL_UNITS = 1024 * 1024;
  /** A result is handed over in parts of about this many units: the guest never holds all of it as JSON. */
  const PART_UNITS = 256 * 1024;
  const PART_VALUES = 4096;
  const isPlain = (value) => {
    const prototype = getPrototypeOf(value);
    return prototype === ObjectPrototype || prototype === ArrayPrototype || prototype === null;
  };

  /** What JSON would silently lose about this value, or "" where it keeps it. */
  function lossOf(value) {
    switch (typeof value) {
      case "function":
        return "a function";
      case "symbol":
        return "a symbol";
      case "bigint":
        return "a BigInt";
      case "number":
        return isFiniteNumber(value) ? "" : `${value}`;
      case "object":
        if (value === null || isPlain(value)) return "";
        if (brand(value, mapSize)) return "a Map";
        if (brand(value, setSize)) return "a Set";
        if (brand(value, regExpSource)) return "a RegExp";
        return getPrototypeOf(value) === PromisePrototype ? "a Promise that was not awaited" : "";
      default:
        return "";
    }
  }

  /**
   * JSON text of a value by JSON.stringify's rules. What those rules would lose becomes null and is reported through
   * `lost(path, what)`. Stops storing at `room` UTF-16 units and goes on counting, for a bounded number of values.
   * Without `toJSON` the values are the prelude's own, and a patched toJSON is not asked. `part` is given the text piece
   * by piece; what is answered then has none.
   */
  function render(root, rootPath, room, lost, toJSON = true, part = undefined) {
    let json = "";
    let size = 0;
    let visits = 0;
    let lastVisit = part && room > USUAL_UNITS ? Infinity : MAX_VALUES;
    // The way to the value in hand: the containers that hold it, and at each depth the key.
    const open = new SafeSet();
    const trail = newList();

    function write(text) {
      size += text.length;
      if (size > room) lastVisit = min(lastVisit, visits + 20_000);
      else json += text;
      if (part && json.length > PART_UNITS) handOver();
    }
    function handOver() {
      part(json);
      json = "";
    }
    /** A long string in pieces, none of which ends within a character. */
    function writeString(value) {
      if (size + value.length > room) return write(value);
      if (value.length <= PART_UNITS) return write(stringify(value));
      write('"');
      for (let from = 0, to; from < value.length; from = to) {
        to = min(value.length, from + PART_UNITS);
        const last = charCodeAt(value, to - 1);
        if (last >= 0xd800 && last < 0xdc00 && to < value.length) to--;
        const piece = stringify(slice(value, from, to));
        write(slice(piece, 1, piece.length - 1));
      }
      write('"');
    }
    function pathTo(depth) {
      let path = rootPath;
      for (let i = 1; i <= depth; i++) {
        const key = trail[i];
        if (typeof key === "number") path += `[${key}]`;
        else path += isIdentifier(key) ? `.${key}` : `[${stringify(key)}]`;
      }
      return path;
    }
    function lose(depth, what) {
      lost(pathTo(depth), what);
      write("null");
    }
    /** The engine's own stringify is several times faster, and safe where no element can run code or be lost. */
    function flat(value) {
      let units = 0;
      for (let i = 0, length = value.length; i < length; i++) {
        const item = value[i];
        if (typeof item === "string") {
          if (item.length > PART_UNITS) return false;
          units += item.length;
        } else if (typeof item === "number" ? !isFiniteNumber(item) : typeof item !== "boolean") return false;
      }
      if (size + units > room) return false;
      if (units <= PART_UNITS && value.length <= PART_VALUES) write(stringify(value));
      else flatInParts(value);
      return true;
    }
    function flatInParts(value) {
      let separator = "[";
      for (let i = 0; i < value.length; ) {
        const some = newList();
        for (let units = 0; i < value.length && some.length < PART_VALUES && units < PART_UNITS; i++) {
          if (typeof value[i] === "string") units += value[i].length;
          append(some, value[i]);
        }
        const text = stringify(some);
        write(separator + slice(text, 1, text.length - 1));
        separator = ",";
      }
      write("]");
    }
    function elements(value, depth) {
      write("[");
      for (let i = 0, length = value.length; i < length && visits <= lastVisit; i++) {
        if (i > 0) write(",");
        trail[depth] = i;
        visit(value[i], "", depth);
      }
      write("]");
    }
    function members(value, depth) {
      const keys = objectKeys(value);
      let separator = "";
      write("{");
      for (let i = 0; i < keys.length && visits <= lastVisit; i++) {
        trail[depth] = keys[i];
        if (visit(value[keys[i]], `${separator}${stringify(keys[i])}:`, depth)) separator = ",";
      }
      write("}");
    }

    /** Writes `prefix` and the value; false where a member is left out, as JSON does with undefined. */
    function visit(given, prefix, depth) {
      visits++;
      let value = given;
      if (toJSON && typeof value === "object" && value !== null) {
        const convert = value.toJSON;
        if (typeof convert === "function") value = apply(convert, value, [depth > 0 ? `${trail[depth]}` : ""]);
      }
      if (value === undefined) {
        if (prefix !== "") return false;
        write("null");
        return true;
      }
      if (prefix !== "") write(prefix);
      if (typeof value === "string") writeString(value);
      else if (value === null || typeof value === "boolean" || (typeof value === "number" && isFiniteNumber(value))) {
        write(`${value}`);
      } else container(value, depth);
      return true;
    }
    function container(value, depth) {
      if (typeof value !== "object" || !isPlain(value)) {
        const loss = lossOf(value);
        if (loss) return lose(depth, loss);
        if (brand(value, numberValue)) return visit(numberValue(value), "", depth);
        if (brand(value, stringValue)) return visit(stringValue(value), "", depth);
        if (brand(value, booleanValue)) return visit(booleanValue(value), "", depth);
      }
      if (setHas(open, value)) return lose(depth, "a cycle");
      if (depth >= MAX_DEPTH) return lose(depth, `nested deeper than ${MAX_DEPTH} levels`);
      const list = isArray(value);
      if (list && toJSON && value.toJSON === undefined && flat(value)) return;
      setAdd(open, value);
      if (list) elements(value, depth + 1);
      else members(value, depth + 1);
      setDelete(open, value);
    }

    visit(root, "", 0);
    const counted = visits <= lastVisit;
    const whole = counted && size <= room;
    if (part && whole) handOver();
    return { json, size, counted, whole };
  }

  return { __proto__: null, render };
});
