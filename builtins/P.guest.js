(function P(guest) {
  let text;
  guest.install("P", () => {
    if (text === undefined) text = opened();
    return text;
  });
  guest.command("P.forget", () => {
    // While it is held here: the host can then see whether anything else holds it.
    guest.call("P.release", []);
    text = undefined;
    page = undefined;
  });

  function opened() {
    const facts = guest.call("P.facts", []);
    if (facts.isLarge) return largeText(facts);
    guest.call("P.ready", []);
    return guest.text("P");
  }

  // A large P is no string: it answers what a part of the text answers, and refuses all else. The host is told which text is
  // meant, since a variable may hold one whose context is not loaded any more.

  const { trunc, min, max } = Math;
  const uncurried = (method) => Function.prototype.call.bind(method);
  const charAt = uncurried(String.prototype.charAt);
  const charCodeAt = uncurried(String.prototype.charCodeAt);
  const codePointAt = uncurried(String.prototype.codePointAt);
  const startsWith = uncurried(String.prototype.startsWith);
  const isWellFormed = uncurried(String.prototype.isWellFormed);
  const test = uncurried(RegExp.prototype.test);
  const INDEX = /^(?:0|[1-9]\d{0,15})$/;
  const HIGH = /^[\ud800-\udbff]$/;

  /** UTF-16 units that are kept here, for what asks for single ones. */
  const PAGE_UNITS = 16384;
  let page;

  /** An argument as methods of strings read it: a whole number, or infinite. */
  const wholeNumber = (value) => trunc(+value) || 0;
  const wholeNumberOr = (otherwise, value) => (value === undefined ? otherwise : wholeNumber(value));

  /** A text to look for, in whose place these methods take no regular expression. */
  function sought(value) {
    startsWith("", value);
    return `${value}`;
  }

  function largeText({ hash, length }) {
    const within = (offset) => min(max(offset, 0), length);
    const fromEnd = (offset) => within(offset < 0 ? length + offset : offset);
    const part = (start, end) => (start < end ? guest.call("P.slice", [hash, start, end]) : "");
    const refuse = (what) => guest.call("P.refused", [hash, what]);

    function unitAt(at) {
      if (!(at >= 0 && at < length)) return "";
      const start = at - (at % PAGE_UNITS);
      if (page?.hash !== hash || page.start !== start) {
        page = { hash, start, units: part(start, within(start + PAGE_UNITS)) };
      }
      return charAt(page.units, at - start);
    }

    function placeOf(name, part, from) {
      if (!isWellFormed(part)) return guest.call("P.halved", [name]);
      return guest.call("P.indexOf", [hash, part, within(wholeNumber(from))]);
    }

    const methods = {
      __proto__: null,
      at(index) {
        const at = wholeNumber(index);
        return unitAt(at < 0 ? length + at : at) || undefined;
      },
      charAt: (index) => unitAt(wholeNumber(index)),
      charCodeAt: (index) => charCodeAt(unitAt(wholeNumber(index)), 0),
      codePointAt(index) {
        const at = wholeNumber(index);
        const unit = unitAt(at);
        return codePointAt(test(HIGH, unit) ? unit + unitAt(at + 1) : unit, 0);
      },
      slice: (start, end) => part(fromEnd(wholeNumber(start)), fromEnd(wholeNumberOr(length, end))),
      substring(start, end) {
        const one = within(wholeNumber(start));
        const other = within(wholeNumberOr(length, end));
        return part(min(one, other), max(one, other));
      },
      substr(start, count) {
        const from = fromEnd(wholeNumber(start));
        return part(from, within(from + wholeNumberOr(length, count)));
      },
      startsWith(search, position) {
        const beginning = sought(search);
        const start = within(wholeNumber(position));
        return part(start, within(start + beginning.length)) === beginning;
      },
      endsWith(search, position) {
        const ending = sought(search);
        const end = within(wholeNumberOr(length, position));
        return part(within(end - ending.length), end) === ending;
      },
      indexOf: (search, from) => placeOf("P.indexOf", `${search}`, from),
      includes: (search, from) => placeOf("P.includes", sought(search), from) >= 0,
    };
    for (const name in methods) guest.constant(guest.named(name, methods[name]))();

    function get(_target, name) {
      if (name === Symbol.toPrimitive) return () => refuse("P as a string");
      if (name === Symbol.iterator) return () => refuse("for … of P");
      if (typeof name === "symbol") return undefined;
      if (name === "length") return length;
      if (methods[name]) return methods[name];
      if (test(INDEX, name)) return unitAt(+name) || undefined;
      if (name === "toJSON") return (key) => refuse(key === "context" ? "context: P" : "P as a value");
      const isMethod = name !== "constructor" && typeof String.prototype[name] === "function";
      return isMethod ? () => refuse(`P.${name}`) : undefined;
    }

    const asObject = () => refuse("P as a value");
    return new Proxy(guest.constant({ __proto__: null })(), {
      __proto__: null,
      get,
      // As of a string: ignored, or a TypeError in strict code.
      set: () => false,
      has: asObject,
      ownKeys: asObject,
      getOwnPropertyDescriptor: asObject,
    });
  }
});
