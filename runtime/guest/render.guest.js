// Values to JSON text, under the guest's limits.
(function renderer(kit) {
  const {
    apply,
    getPrototypeOf,
    isArray,
    keysOf,
    isFiniteNumber,
    stringify,
    isPlain,
    PromisePrototype,
    mapSize,
    SafeSet,
    setSize,
    regExpSource,
    isInvalidDate,
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
  /** If more is wanted than this, only the time of the exec limits the number of values. */
  const USUAL_UNITS = 1024 * 1024;
  /** A result is handed over in parts of about this many units: the guest never holds all of it as JSON. */
  const PART_UNITS = 256 * 1024;
  const PART_VALUES = 4096;
  /** The loss that JSON would silently make of this value, or "" if JSON keeps it. */
  function lossOf(value) {
    switch (typeof value) {
      case "function":
        return "a function";
      case "symbol":
        return "a symbol";
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
   * `lost(path, what)`; a BigInt becomes what a third argument says. Stops storing at `room` UTF-16 units and goes on counting, for a
   * bounded number of values.
   * Without `toJSON` the values are the prelude's own, and a patched toJSON is not asked. If `part` is given, it gets the
   * text piece by piece, and the answer has no text.
   */
  function render(root, rootPath, room, lost, toJSON = true, part = undefined) {
    const lastVisit = part && room > USUAL_UNITS ? Infinity : MAX_VALUES;
    const out = { __proto__: null, json: "", size: 0, visits: 0, lastVisit, room, part, toJSON, rootPath, lost };
    // The way to the value in hand: the containers that hold it, and at each depth the key.
    out.open = new SafeSet();
    out.trail = newList();
    visit(out, root, "", 0);
    const counted = out.visits <= out.lastVisit;
    const whole = counted && out.size <= room;
    if (part && whole) handOver(out);
    return { json: out.json, size: out.size, counted, whole };
  }

  // Each of these writes to `out`, one rendering.

  /** Writes `prefix` and the value. Returns false if the member is left out, as JSON does with undefined. */
  function visit(out, given, prefix, depth) {
    out.visits++;
    let value = given;
    if (out.toJSON && typeof value === "object" && value !== null) {
      const convert = value.toJSON;
      if (typeof convert === "function") value = apply(convert, value, [depth > 0 ? `${out.trail[depth]}` : ""]);
      if (value === null && isInvalidDate(given)) out.lost(pathTo(out, depth), "an invalid Date");
    }
    if (value === undefined) {
      if (prefix !== "") return false;
      write(out, "null");
    } else if (typeof value === "string") writeString(out, value, prefix);
    else if (value === null || typeof value === "boolean" || (typeof value === "number" && isFiniteNumber(value))) {
      write(out, `${prefix}${value}`);
    } else {
      if (prefix !== "") write(out, prefix);
      container(out, value, depth);
    }
    return true;
  }

  function container(out, value, depth) {
    if (typeof value === "bigint") return writeBigInt(out, value, depth);
    if (typeof value !== "object" || !isPlain(value)) {
      const loss = lossOf(value);
      if (loss) return lose(out, depth, loss);
      if (brand(value, numberValue)) return visit(out, numberValue(value), "", depth);
      if (brand(value, stringValue)) return visit(out, stringValue(value), "", depth);
      if (brand(value, booleanValue)) return visit(out, booleanValue(value), "", depth);
    }
    if (setHas(out.open, value)) return lose(out, depth, "a cycle");
    if (depth >= MAX_DEPTH) return lose(out, depth, `nested deeper than ${MAX_DEPTH} levels`);
    const list = isArray(value);
    if (list && out.toJSON && value.toJSON === undefined && flat(out, value)) return;
    setAdd(out.open, value);
    if (list) elements(out, value, depth + 1);
    else members(out, value, depth + 1);
    setDelete(out.open, value);
  }

  /** A number if it is safe, else a text of its digits. */
  function writeBigInt(out, value, depth) {
    const isSafe = value >= -9007199254740991n && value <= 9007199254740991n;
    out.lost(pathTo(out, depth), "a BigInt", isSafe ? "number" : "text");
    write(out, isSafe ? `${value}` : `"${value}"`);
  }

  function elements(out, value, depth) {
    write(out, "[");
    for (let i = 0, length = value.length; i < length && out.visits <= out.lastVisit; i++) {
      if (i > 0) write(out, ",");
      out.trail[depth] = i;
      visit(out, value[i], "", depth);
    }
    write(out, "]");
  }

  function members(out, value, depth) {
    const keys = keysOf(value);
    let separator = "";
    write(out, "{");
    for (let i = 0; i < keys.length && out.visits <= out.lastVisit; i++) {
      out.trail[depth] = keys[i];
      if (visit(out, value[keys[i]], `${separator}${stringify(keys[i])}:`, depth)) separator = ",";
    }
    write(out, "}");
  }

  function lose(out, depth, what) {
    out.lost(pathTo(out, depth), what);
    write(out, "null");
  }

  function pathTo({ rootPath, trail }, depth) {
    let path = rootPath;
    for (let i = 1; i <= depth; i++) {
      const key = trail[i];
      if (typeof key === "number") path += `[${key}]`;
      else path += isIdentifier(key) ? `.${key}` : `[${stringify(key)}]`;
    }
    return path;
  }

  /** The engine's own stringify is several times faster, and safe if no element can run code or be lost. */
  function flat(out, value) {
    let units = 0;
    for (let i = 0, length = value.length; i < length; i++) {
      const item = value[i];
      if (typeof item === "string") {
        if (item.length > PART_UNITS) return false;
        units += item.length;
      } else if (typeof item === "number" ? !isFiniteNumber(item) : typeof item !== "boolean") return false;
    }
    if (out.size + units > out.room) return false;
    if (units <= PART_UNITS && value.length <= PART_VALUES) write(out, stringify(value));
    else flatInParts(out, value);
    return true;
  }

  function flatInParts(out, value) {
    let separator = "[";
    for (let i = 0; i < value.length; ) {
      const some = newList();
      for (let units = 0; i < value.length && some.length < PART_VALUES && units < PART_UNITS; i++) {
        if (typeof value[i] === "string") units += value[i].length;
        append(some, value[i]);
      }
      const text = stringify(some);
      write(out, separator + slice(text, 1, text.length - 1));
      separator = ",";
    }
    write(out, "]");
  }

  /** Writes a long string in pieces, none of which ends within a character. */
  function writeString(out, value, prefix) {
    if (out.size + prefix.length + value.length > out.room) return write(out, prefix + value);
    if (value.length <= PART_UNITS) return write(out, prefix + stringify(value));
    write(out, `${prefix}"`);
    for (let from = 0, to; from < value.length; from = to) {
      to = min(value.length, from + PART_UNITS);
      const last = charCodeAt(value, to - 1);
      if (last >= 0xd800 && last < 0xdc00 && to < value.length) to--;
      const piece = stringify(slice(value, from, to));
      write(out, slice(piece, 1, piece.length - 1));
    }
    write(out, '"');
  }

  function write(out, text) {
    out.size += text.length;
    if (out.size > out.room) out.lastVisit = min(out.lastVisit, out.visits + 20_000);
    else out.json += text;
    if (out.part && out.json.length > PART_UNITS) handOver(out);
  }

  function handOver(out) {
    out.part(out.json);
    out.json = "";
  }

  return { __proto__: null, render };
});
