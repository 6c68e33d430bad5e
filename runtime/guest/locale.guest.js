// What the language leaves to a locale. Node's Intl answers, in the host. Without a locale it is en-US, and without a time zone
// UTC, so that every host gives the same.
(function locale(kit) {
  const { call, defineProperty, dataProperty, ownKeys, charCodeAt, regExpTest, min } = kit;
  const { toUpperCase, toLowerCase } = String.prototype;
  const { getTime } = Date.prototype;

  function replace(prototype, methods) {
    for (const name of ownKeys(methods)) {
      defineProperty(prototype, name, { ...dataProperty(methods[name]), enumerable: false });
    }
  }

  function textOf(value, method) {
    if (value === null || value === undefined) throw new TypeError(`${method} called on null or undefined`);
    return `${value}`;
  }

  /** Printable ASCII as Unicode's root collation has it. Both cases of a letter have one rank. */
  const ORDER = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ";
  const FIRST_LETTER = 43;
  const ranks = [];
  for (let i = 0; i < ORDER.length; i++)
    ranks[charCodeAt(ORDER, i)] = i < FIRST_LETTER ? i : i - ((i - FIRST_LETTER) & 1);
  const printable = /^[ -~]*$/;

  /** The order that Intl gives two texts of printable ASCII, without a post: a sort compares often. */
  function compareAscii(one, other) {
    const shared = min(one.length, other.length);
    let byCase = 0;
    for (let i = 0; i < shared; i++) {
      const a = charCodeAt(one, i);
      const b = charCodeAt(other, i);
      if (a === b) continue;
      if (ranks[a] !== ranks[b]) return ranks[a] < ranks[b] ? -1 : 1;
      if (byCase === 0) byCase = a > b ? -1 : 1;
    }
    if (one.length !== other.length) return one.length < other.length ? -1 : 1;
    return byCase;
  }

  replace(String.prototype, {
    localeCompare(that, locales, options) {
      const one = textOf(this, "localeCompare");
      const other = `${that}`;
      const isPlain = locales === undefined && options === undefined;
      if (isPlain && regExpTest(printable, one) && regExpTest(printable, other)) return compareAscii(one, other);
      return call("String.localeCompare", [one, other, { locales, options }]);
    },
    toLocaleUpperCase(locales) {
      if (locales === undefined) return toUpperCase.call(this);
      return call("String.toLocaleUpperCase", [textOf(this, "toLocaleUpperCase"), { locales }]);
    },
    toLocaleLowerCase(locales) {
      if (locales === undefined) return toLowerCase.call(this);
      return call("String.toLocaleLowerCase", [textOf(this, "toLocaleLowerCase"), { locales }]);
    },
  });

  for (const Class of [Number, BigInt]) {
    const primitive = Class.prototype.valueOf;
    replace(Class.prototype, {
      toLocaleString(locales, options) {
        const value = primitive.call(this);
        // JSON has no sign of zero, no NaN and no BigInt.
        const digits = Object.is(value, -0) ? "-0" : `${value}`;
        return call(`${Class.name}.toLocaleString`, [digits, { locales, options }]);
      },
    });
  }

  for (const name of ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"]) {
    const method = function (locales, options) {
      const time = getTime.call(this);
      return Number.isNaN(time) ? "Invalid Date" : call(`Date.${name}`, [time, { locales, options }]);
    };
    replace(Date.prototype, { [name]: kit.named(name, method) });
  }

  /** The engine's own gives its elements neither the locale nor the options. */
  const ofElements = {
    toLocaleString(locales, options) {
      let text = "";
      for (let i = 0; i < this.length; i++) {
        if (i > 0) text += ",";
        text += this[i]?.toLocaleString(locales, options) ?? "";
      }
      return text;
    },
  };
  replace(Array.prototype, ofElements);
  replace(Object.getPrototypeOf(Uint8Array.prototype), ofElements);
  return null;
});
