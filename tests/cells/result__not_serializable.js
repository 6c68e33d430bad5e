result = { a: Number.NaN, b: Infinity, c: -Infinity, ok: -0 };
//=> {"success":true,"result_json":{"a":null,"b":null,"c":null,"ok":0},
//   "warnings":["result_not_serializable: result.a (NaN)","result_not_serializable: result.b (Infinity)","result_not_serializable: result.c (-Infinity)"]}
//---
result = { items: [1, 2, 3, { fn() {} }] };
//=> {"result_json":{"items":[1,2,3,{"fn":null}]},"warnings":["result_not_serializable: result.items[3].fn (a function)"]}
//---
const cycle = { b: [1] };
cycle.b.push(cycle);
cycle
//=> {"result_json":{"b":[1,null]},"warnings":["result_not_serializable: result.b[1] [Circular]"]}
//---
[new Map([[1, 2]]), new Set(), /x/g, 10n, Symbol("s"), class K {}]
//=> {"result_json":[null,null,null,10,null,null],"warnings":[
//   "result_not_serializable: result[0] (a Map)","result_not_serializable: result[1] (a Set)",
//   "result_not_serializable: result[2] (a RegExp)",
//   "result_not_serializable: result[4] (a symbol)","result_not_serializable: result[5] (a function)"]}
//---
() => 1
//=> {"success":true,"result_json":null,"warnings":["result_not_serializable: result (a function that nothing called)"]}
//---
new Map()
//=> {"result_json":null,"warnings":["result_not_serializable: result (a Map)"]}
//---
-(2n ** 53n)
//=> {"result_json":"-9007199254740992","warnings":["number_as_text: result"]}
//---
BigInt.prototype.toString = () => "patched";
BigInt.prototype.toJSON = () => "patched";
[{ id: 1234567890123456789n }, { id: 1234567890123456789n, n: 2n ** 53n - 1n, zero: -0n }]
//=> {"result_json":[{"id":"1234567890123456789"},{"id":"1234567890123456789","n":9007199254740991,"zero":0}],"warnings":["number_as_text: result[].id"]}
//---
result = { "a b": { "日本": Number.NaN }, "": [Number.NaN], "0x": Symbol() };
//=> {"warnings":["/^result_not_serializable: result\\[\"a b\"\\]\\[\"日本\"\\] \\(NaN\\)$/","/^result_not_serializable: result\\[\"\"\\]\\[0\\] \\(NaN\\)$/","/^result_not_serializable: result\\[\"0x\"\\] \\(a symbol\\)$/"]}
//---
const shared = { a: 1 };
[shared, shared]
//=> {"result_json":[{"a":1},{"a":1}],"warnings":[]}
//---
const [{ id }] = JSON.parse('[{ "id": 1234567890123456789 }]');
({ id, text: "1234567890123456800", far: 1e22, fraction: 0.12345678901234567, nanoseconds: 17e17 })
//=> {"result_json":{"id":1234567890123456800,"text":"1234567890123456800","far":1e22,"fraction":0.12345678901234567,"nanoseconds":1700000000000000000},"warnings":["number_rounded: 1234567890123456800"]}
//---
[2 ** 53]
//=> {"result_json":[9007199254740992],"warnings":[]}
//---
result = { at: new Date(Number.NaN), ok: new Date(0) };
//=> {"result_json":{"at":null,"ok":"1970-01-01T00:00:00.000Z"},"warnings":["result_not_serializable: result.at (an invalid Date)"]}
