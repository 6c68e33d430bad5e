memory.put("c", 3);
memory.batch([
  { op: "put", key: "a", value: { x: 1 } },
  { op: "put", key: "b", value: 2 },
  { op: "get", key: "c" },
  { op: "get", key: "d" },
  { op: "get", key: "a" },
  { op: "delete", key: "c" },
  { op: "delete", key: "c" },
]);
//=> {"result_json":[{"op":"put","key":"a","ok":true},{"op":"put","key":"b","ok":true},{"op":"get","key":"c","value":3},
//   {"op":"get","key":"d","value":null},{"op":"get","key":"a","value":{"x":1}},{"op":"delete","key":"c","ok":true},{"op":"delete","key":"c","ok":false}]}
//---
memory.list();
//=> {"result_json":["a","b"]}
//---
memory.batch([]);
//=> {"result_json":[]}
