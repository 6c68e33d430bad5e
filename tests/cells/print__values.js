print({ a: 1, "b c": "two", [Symbol("s")]: 3 }, [1, "x", , null], -0, 10n, Symbol("t"), "quoted \" not");
//=> {"stdout":"{ a: 1, \"b c\": \"two\", [Symbol(s)]: 3 } [1, \"x\", empty, null] -0 10n Symbol(t) quoted \" not\n"}
//---
print(new Map([["k", { v: 1 }]]), new Set([1, "2"]), /re/gi, new Date(0), [], {}, new Map());
//=> {"stdout":"Map(1) { \"k\" => { v: 1 } } Set(2) { 1, \"2\" } /re/gi 1970-01-01T00:00:00.000Z [] {} Map(0) {}\n"}
//---
print(function named() {}, () => 1, class Shape {}, new TypeError("bad"), Promise.resolve(1), { get x() { throw 1 } });
//=> {"stdout":"[Function named] [Function] [class Shape] TypeError: bad Promise {…} { x: [Getter] }\n"}
//---
const cycle = { name: "me" };
cycle.self = cycle;
print(cycle, { a: { b: { c: { d: { e: { f: 1 } } } } } });
//=> {"stdout":"/^\\{ name: \"me\", self: \\[Circular\\] \\} \\{ a: \\{ b: \\{ c: \\{ d: \\{ e: \\{…\\} \\} \\} \\} \\} \\}\\n$/"}
//---
print(Array.from({ length: 150 }, (_, i) => i));
//=> {"stdout":"/^\\[\\n  0,\\n  1,.*\\n  99,\\n  … 50 more\\n\\]\\n$/"}
//---
print(Object.create({ inherited: 1 }), Object.create(null), new (class Point { x = 1 })(), new Proxy({ p: 1 }, {}));
//=> {"stdout":"{} {} { x: 1 } { p: 1 }\n"}
//---
print("%s is %d", "x", 1, "日本 😀", "a\0b", "\ud800".length);
//=> {"stdout":"%s is %d x 1 日本 😀 a\u0000b 1\n"}
//---
print("lone \ud800 surrogate");
//=> {"stdout":"lone \\ud800 surrogate\n"}
//---
const big = JSON.parse('{ "id": 1234567890123456789, "at": 1700000000000000000 }');
print("row", [big]);
console.error(big.at, 1e22, 2 ** 53);
//=> {"stdout":"row [{ id: 1234567890123456800, at: 1700000000000000000 }]\n","warnings":["number_rounded: 1234567890123456800"]}
//---
console.table([{ id: -JSON.parse("1234567890123456789") }]);
//=> {"warnings":["number_rounded: -1234567890123456800"]}
//---
print("a\ud800b", { at: new Date(Number.NaN) });
//=> {"stdout":"a\\ud800b { at: Invalid Date }\n","warnings":[]}
//---
print(new Set(Array.from({ length: 102 }, (_, at) => at)));
//=> {"stdout":"/, … 2 more }|\\n {2}… 2 more\\n}/"}
