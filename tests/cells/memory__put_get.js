memory.put("a", { x: [1, "two", null, true] });
memory.get("a");
//=> {"success":true,"result_json":{"x":[1,"two",null,true]}}
//---
memory.put("a", "overwritten");
[memory.get("a"), memory.get("missing"), memory.list()];
//=> {"result_json":["overwritten",null,["a"]]}
//---
const value = { n: 1 };
memory.put("b", value);
value.n = 2;
memory.get("b").n = 3;
memory.get("b");
//=> {"result_json":{"n":1}}
//---
memory.put("null", null);
[memory.get("null"), memory.list(), memory.put("x", 1) === undefined];
//=> {"result_json":[null,["a","b","null"],true]}
//---
[memory.delete("a"), memory.delete("a"), memory.list()];
//=> {"result_json":[true,false,["b","null","x"]]}
//---
[memory.clear() === undefined, memory.list(), session().memory_bytes_used];
//=> {"result_json":[true,[],0]}
