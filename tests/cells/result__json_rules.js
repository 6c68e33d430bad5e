[{ gone: undefined, kept: null }, [undefined, , 1], new Date(0), new Date(Number.NaN), -0]
//=> {"result_json":[{"kept":null},[null,null,1],"1970-01-01T00:00:00.000Z",null,0],"warnings":["result_not_serializable: result[3] (an invalid Date)"]}
//---
[{ toJSON: (key) => `at ${key}` }, Object("s"), Object(1), Object(true), new Uint8Array([1, 2]), new Error("x")]
//=> {"result_json":["at 0","s",1,true,{"0":1,"1":2},{"name":"Error","message":"x"}],"warnings":[]}
//---
class Point { x = 1; get y() { return 2 } #z = 3 }
[new Point(), Object.create({ inherited: 1 }), { [Symbol("s")]: 1 }, { get computed() { return 4 } }]
//=> {"result_json":[{"x":1},{},{},{"computed":4}],"warnings":[]}
//---
[{ __proto__: null, a: 1 }, JSON.parse('{"__proto__": 5}'), Object.defineProperty({}, "hidden", { value: 1 })]
//=> {"result_json":[{"a":1},{"__proto__":5},{}]}
//---
["\ud800", "a\0b", "\u2028", "\"\\\n", "é😀"]
//=> {"result_json":["\ud800","a\u0000b","\u2028","\"\\\n","é😀"]}
//---
[1e21, 1e-7, 0.1 + 0.2, Number.MAX_SAFE_INTEGER, 5e-324, 1.7976931348623157e308]
//=> {"result_json":[1e21,1e-7,0.30000000000000004,9007199254740991,5e-324,1.7976931348623157e308]}
//---
result = { get bad() { throw new Error("in a getter") } };
//=> {"success":false,"error_code":"js_error","error_message":"Error: in a getter","line":1}
//---
result = { toJSON() { throw new TypeError("in toJSON") } };
//=> {"success":false,"error_message":"TypeError: in toJSON"}
//---
let deep = [];
for (let i = 0; i < 1000; i++) deep = [deep];
deep
//=> {"success":true,"warnings":["/^result_not_serializable: result\\[0\\].* \\(nested deeper than 400 levels\\)$/"]}
