import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { openOracle } from "./oracle.ts";

const oracle = await openOracle();
afterAll(() => oracle[Symbol.asyncDispose]());

/** Compares a guest with Node: one cell for all cases. */
async function sameAsNode(code: string, cases: readonly unknown[]): Promise<void> {
  const { guest, node } = await oracle.both(code, cases);
  expect(guest).toEqual(node);
}

const sampled = <T>(arbitrary: fc.Arbitrary<T>, count = 150) => fc.sample(arbitrary, { numRuns: count, seed: 19 });

const word = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.constantFrom("file10", "file9", "File9", "é", "e\u0301", "ß", "中", "a b", "_x", "", "İ", "résumé", "resume"),
);

test("texts are compared as Intl does, in ASCII without the host too", async () => {
  await sameAsNode("([a, b]) => a.localeCompare(b)", sampled(fc.tuple(word, word), 400));
  await sameAsNode(
    "(list) => list.toSorted((a, b) => a.localeCompare(b))",
    sampled(fc.array(fc.string({ maxLength: 5 }), { maxLength: 12 })),
  );
});

test("texts are compared by locale and options", async () => {
  const options = fc.constantFrom<object | undefined>(
    ...[undefined, { numeric: true }, { sensitivity: "base" }, { sensitivity: "accent" }, { caseFirst: "upper" }],
    ...[{ numeric: true, sensitivity: "base" }, { ignorePunctuation: true }, { usage: "search" }],
  );
  const locale = fc.constantFrom("en", "en-US", "de-DE", "sv", "zh", ["xx", "de"], "de-u-co-phonebk", "not a locale");
  const cases = sampled(fc.tuple(word, word, locale, options), 300);
  await sameAsNode("([a, b, locale, options]) => a.localeCompare(b, locale, options ?? undefined)", cases);
  await sameAsNode(
    "([text, locale]) => [text.toLocaleUpperCase(locale), text.toLocaleLowerCase(locale)]",
    sampled(fc.tuple(word, fc.constantFrom("tr", "lt", "en", "x"))),
  );
});

test("numbers are written by locale and options", async () => {
  const value = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(1234567.5, -0.004, 1e21));
  const options = fc.constantFrom<object>(
    ...[{}, { minimumFractionDigits: 2 }, { style: "percent" }, { style: "currency", currency: "EUR" }],
    ...[{ style: "currency" }, { notation: "compact" }, { maximumFractionDigits: 101 }, { useGrouping: false }],
  );
  const locale = fc.constantFrom("en-US", "de-DE", "en-IN", "ar-EG", "fr");
  await sameAsNode("([value, locale, options]) => value.toLocaleString(locale, options)", [
    ...sampled(fc.tuple(value, locale, options), 200),
  ]);
  await sameAsNode("(text) => [BigInt(text).toLocaleString('de'), Number(text).toLocaleString('en')]", [
    ...["12345678901234567890", "-0", "0", "1e3"],
  ]);
  await sameAsNode("() => [1234.5, null, [2345.5], new Float64Array([1234.5])].toLocaleString('de')", [0]);
  await sameAsNode("() => [NaN, -0, Infinity].map((value) => value.toLocaleString('de'))", [0]);
});

test("dates are written by locale, options and time zone, and never by what cannot be honoured", async () => {
  const time = fc.oneof(fc.date({ noInvalidDate: true }).map(Number), fc.constant(null));
  const zone = fc.constantFrom("UTC", "Asia/Tokyo", "America/New_York", "Europe/Berlin", "Mars/Olympus", "+05:30");
  const fields = fc.constantFrom<object>(
    ...[{}, { weekday: "long" }, { hour: "2-digit", minute: "2-digit" }, { dateStyle: "full" }, { timeStyle: "short" }],
    ...[{ year: "numeric", month: "short" }, { hour12: false }, { era: "short" }, { fractionalSecondDigits: 3 }],
    ...[{ dateStyle: "short", timeStyle: "short" }, { month: "nope" }, { timeZoneName: "short" }],
  );
  const locale = fc.constantFrom("en-US", "de-DE", "ja-JP", "en-GB", "ar-EG", "th-TH");
  const cases = sampled(fc.tuple(time, locale, zone, fields), 250);
  for (const method of ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"]) {
    const code = `([time, locale, timeZone, fields]) => new Date(time ?? NaN).${method}(locale, { timeZone, ...fields })`;
    await sameAsNode(code, cases);
  }
});

test("without a locale it is en-US, and without a time zone UTC, wherever the host stands", async () => {
  const noon = Date.UTC(2026, 0, 5, 12);
  const { guest } = await oracle.both(
    "(noon) => [new Date(noon).toLocaleString(), new Date(noon).toLocaleDateString('de-DE'), (1234.5).toLocaleString([])]",
    [noon],
  );
  expect(guest).toEqual([{ value: ["1/5/2026, 12:00:00 PM", "5.1.2026", "1,234.5"] }]);
});

test("a locale that Node does not know is refused by name, and not taken for another", async () => {
  const code = `(locale) => {
    const seen = [];
    const calls = [() => (1).toLocaleString(locale), () => 'a'.localeCompare('b', locale), () => new Date(0).toLocaleString(locale)];
    for (const call of calls) try { seen.push(call()) } catch (error) { seen.push(error.message) }
    return seen;
  }`;
  const { guest } = await oracle.both(code, ["xx-YY"]);
  const refused = "the locale xx-YY is not known here";
  expect(guest).toEqual([
    { value: [`toLocaleString: ${refused}`, `localeCompare: ${refused}`, `toLocaleString: ${refused}`] },
  ]);
});

const bytes = fc.oneof(
  fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 12 }),
  fc.string({ unit: "binary", maxLength: 8 }).map((text) => [...Buffer.from(text)]),
  fc.constantFrom([0xef, 0xbb, 0xbf, 0x61], [0xff, 0xfe, 0x61, 0], [0xc4, 0xe3]),
);
const label = fc.constantFrom(
  "utf-8",
  "UTF8",
  "utf-16le",
  "utf-16be",
  "latin1",
  "gbk",
  "shift_jis",
  "euc-kr",
  "nope",
  "",
);

test("texts are encoded as TextEncoder does", async () => {
  const text = fc.oneof(fc.string({ unit: "binary", maxLength: 12 }), fc.constantFrom("\ud800", "a\udc00b", "\u0000"));
  await sameAsNode("(text) => [...new TextEncoder().encode(text)]", sampled(text, 200));
  const into = fc.tuple(text, fc.integer({ min: 0, max: 10 }));
  const code = `([text, size]) => {
    const into = new Uint8Array(size);
    return [new TextEncoder().encodeInto(text, into), [...into]];
  }`;
  await sameAsNode(code, sampled(into, 200));
  await sameAsNode("() => [new TextEncoder().encoding, new TextEncoder().encode().length]", [0]);
});

test("bytes are decoded as TextDecoder does, whole and in parts", async () => {
  const options = fc.record({ fatal: fc.boolean(), ignoreBOM: fc.boolean() });
  const whole = `([label, options, list]) => {
    const decoder = new TextDecoder(label, options);
    return [decoder.encoding, decoder.fatal, decoder.ignoreBOM, decoder.decode(new Uint8Array(list))];
  }`;
  await sameAsNode(whole, sampled(fc.tuple(label, options, bytes), 300));
  const parts = `([label, options, lists]) => {
    const decoder = new TextDecoder(label, options);
    const texts = lists.map((list) => decoder.decode(new Uint8Array(list), { stream: true }));
    return [texts, decoder.decode(), decoder.decode(new Uint8Array([97]))];
  }`;
  await sameAsNode(parts, sampled(fc.tuple(label, options, fc.array(bytes, { maxLength: 4 })), 200));
  const views = `() => {
    const { buffer } = new Uint8Array([97, 98, 99, 100]);
    const decoder = new TextDecoder();
    return [buffer, new DataView(buffer, 1, 2), new Uint16Array(buffer, 2), undefined].map((one) => decoder.decode(one));
  }`;
  await sameAsNode(views, [0]);
  await sameAsNode("(given) => new TextDecoder().decode(given)", ["text", 5, {}]);
});

const PARTS = "href origin protocol username password host hostname port pathname search hash".split(" ");
const url = fc.oneof(
  fc.webUrl({ withFragments: true, withQueryParameters: true }),
  fc.constantFrom(
    ...["https://u:p@a.b:8080/x/../y?q=1&r=é#h", "HTTP://EXAMPLE.com:80", "https://münchen.de/a b", "mailto:a@b.c"],
    ...["file:///c:/x", "data:text/plain,a", "http://[::1]:3000/", "http://1.2.3", "nope", "", "//a", "http://a:99999"],
    ...["javascript:alert(1)", "http://a/%zz?%zz#%zz", "http://xn--a", "blob:https://a.b/c", "http://a\tb/c\n"],
  ),
);

test("URLs are read as Node reads them", async () => {
  const base = fc.option(fc.constantFrom("http://a.b/c/d?e#f", "nope", "mailto:x"), { nil: undefined });
  const code = `([href, base]) => {
    const url = new URL(href, base ?? undefined);
    return [${JSON.stringify(PARTS)}.map((name) => url[name]), \`\${url}\`, JSON.stringify(url), [...url.searchParams]];
  }`;
  const cases = sampled(fc.tuple(fc.oneof(url, fc.constantFrom("../z", "?q", "#h", "/p")), base), 200);
  await sameAsNode(code, cases);
  await sameAsNode(
    "([href, base]) => [URL.canParse(href, base ?? undefined), URL.parse(href, base ?? undefined)?.href]",
    cases,
  );
});

test("URLs are changed as Node changes them, and their parameters with them", async () => {
  const change = fc.tuple(
    fc.constantFrom(...PARTS.filter((name) => name !== "origin"), "append", "delete", "set", "sort"),
    fc.constantFrom(
      "a",
      "a b",
      "?x=1&x=2&y=é",
      "#é",
      "8081",
      "http:",
      "https://new.example/p?n=2",
      "",
      "é.com:1",
      "::",
    ),
  );
  const code = `([href, changes]) => {
    const url = new URL(href);
    const params = url.searchParams;
    return changes.map(([what, value]) => {
      let refused = "";
      try {
        if (["append", "set"].includes(what)) params[what](value, value);
        else if (["delete", "sort"].includes(what)) params[what](value);
        else url[what] = value;
      } catch (error) {
        refused = error.name;
      }
      return [refused, url.href, url.search, [...params], params === url.searchParams];
    });
  }`;
  await sameAsNode(
    code,
    sampled(
      fc.tuple(fc.constantFrom("https://u@a.b/c?x=1#h", "mailto:a?x=1"), fc.array(change, { maxLength: 5 })),
      250,
    ),
  );
});

test("parameters are read and changed as Node does", async () => {
  const init = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.webQueryParameters(),
    fc.array(fc.tuple(word, word), { maxLength: 4 }),
    fc.dictionary(word, word, { maxKeys: 4 }),
    fc.constantFrom<unknown>("?a=1&b=%20+%zz&=x&c", [["a"]], [1], null, 5, "\ud800=1"),
  );
  const code = `([init, name]) => {
    const params = new URLSearchParams(init);
    const seen = [params.toString(), params.size, params.get(name), params.getAll("a"), params.has("a", "1"), [...params.keys()]];
    params.append(name, "v");
    params.set("a", name);
    params.delete("b", "2");
    params.sort();
    const pairs = [];
    params.forEach((value, key, all) => pairs.push([key, value, all === params]));
    return [seen, \`\${params}\`, pairs, [...params.values()], [...new URLSearchParams(params)]];
  }`;
  await sameAsNode(code, sampled(fc.tuple(init, fc.constantFrom("a", "b", "é")), 250));
});

test("values are cloned as Node clones them", async () => {
  const SHOWN = `(value) => {
    const seen = new Map();
    const show = (one) => {
      if (typeof one === "bigint") return \`\${one}n\`;
      if (typeof one === "function") return one.name;
      if (typeof one !== "object" || one === null) return Object.is(one, -0) ? "-0" : \`\${typeof one} \${one}\`;
      if (seen.has(one)) return \`again \${seen.get(one)}\`;
      seen.set(one, seen.size);
      const kind = Object.prototype.toString.call(one);
      if (one instanceof Map) return [kind, [...one].map(show)];
      if (one instanceof Set) return [kind, [...one].map(show)];
      if (one instanceof Date) return [kind, one.getTime()];
      if (one instanceof RegExp) return [kind, String(one), one.lastIndex];
      if (one instanceof ArrayBuffer) return [kind, [...new Uint8Array(one)]];
      if (ArrayBuffer.isView(one)) return [kind, one.byteOffset, one.byteLength, show(one.buffer)];
      if (one instanceof Error) return [one.constructor.name, one.name, one.message, show(one.cause), typeof one.stack];
      const own = Object.keys(one).map((key) => [key, show(one[key])]);
      return [kind, Object.getPrototypeOf(one) === Object.prototype, one.length ?? "", own];
    };
    return show(value);
  }`;
  const values = [
    "1, 'a', null, undefined, -0, 10n, true",
    "{ a: [1, , 3], b: { c: undefined } }",
    "(() => { const a = { list: [] }; a.self = a; a.list.push(a, a.list); return a; })()",
    "new Map([[{ k: 1 }, new Set([1, 'x'])], ['self', new Map()]])",
    "(() => { const map = new Map(); map.set(map, map); return map; })()",
    "new Date(86400000), new Date(NaN)",
    "(() => { const re = /a+/giu; re.lastIndex = 3; return re; })()",
    "new Uint8Array([1, 2, 3]), new Float64Array([1.5]), new DataView(new Uint8Array([9, 8, 7]).buffer, 1, 2)",
    "(() => { const b = new ArrayBuffer(4); return [new Uint8Array(b, 1, 2), new Uint16Array(b), b]; })()",
    "new Error('a', { cause: { n: 1 } }), new RangeError('r'), Object.assign(new TypeError('t'), { code: 1 })",
    "new (class Custom extends Error { name = 'Custom' })('c'), new AggregateError([new Error('x')], 'm')",
    "Object('s'), Object(1), Object(true), Object(5n)",
    "new (class Point { x = 1; #y = 2; get z() { return 3; } })()",
    "Object.create({ inherited: 1 }, { own: { value: 2, enumerable: true }, hidden: { value: 3 } })",
    "{ get a() { return { b: 1 }; }, [Symbol('s')]: 1 }",
    "Object.assign([1, 2], { extra: 'e' })",
    "() => 1",
    "{ f() {} }",
    "Symbol('s')",
    "[Symbol.iterator]",
    "new WeakMap()",
    "new WeakSet()",
    "Promise.resolve(1)",
    "new Map([['f', () => 1]])",
    "Object(Symbol('s'))",
    "new WeakRef({})",
    "{ get a() { throw new RangeError('g'); } }",
  ];
  for (const value of values) {
    const code = `() => [${value}].map((one) => (${SHOWN})(structuredClone(one)))`;
    const { guest, node } = await oracle.both(code, [0]);
    expect({ value, result: guest }).toEqual({ value, result: node });
  }
});

test("a buffer that is transferred moves, and what cannot be cloned is a DataCloneError", async () => {
  const moved = `() => {
    const buffer = new Uint8Array([1, 2, 3]).buffer;
    const copy = structuredClone({ buffer, view: new Uint8Array(buffer, 1) }, { transfer: [buffer] });
    return [buffer.byteLength, [...new Uint8Array(copy.buffer)], copy.view.byteLength, copy.view.buffer === copy.buffer];
  }`;
  await sameAsNode(moved, [0]);
  const refused = `() => {
    try { structuredClone({ a: [() => 1] }) } catch (error) { return [error.name, error.code, error instanceof DOMException] }
  }`;
  await sameAsNode(refused, [0]);
  await sameAsNode("() => structuredClone()", [0]);
  await sameAsNode("() => structuredClone(1, { transfer: [{}] })", [0]);
});

test("what a WeakRef refers to stays until the job is over", async () => {
  const code = `() => {
    const ref = new WeakRef({ a: 1 });
    const list = Array.from({ length: 100 }, (_, n) => new WeakRef({ n }));
    return [ref.deref()?.a, list.every((one, n) => one.deref()?.n === n), ref instanceof WeakRef, \`\${ref}\`];
  }`;
  await sameAsNode(code, [0]);
});
