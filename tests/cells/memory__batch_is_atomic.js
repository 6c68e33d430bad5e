memory.put("a", 1);
let message;
try {
  memory.batch([
    { op: "put", key: "a", value: 2 },
    { op: "put", key: "b", value: 2 },
    { op: "delete", key: "a" },
    { op: "put", key: "bad", value: undefined },
  ]);
} catch (error) {
  message = error.message;
}
[message, memory.get("a"), memory.get("b"), memory.list(), session().memory_bytes_used];
//=> {"result_json":["memory.put: value is undefined",1,null,["a"],2]}
//---
memory.batch([{ op: "put", key: "b", value: 1 }, { op: "rename", key: "b" }]);
//=> {"success":false,"error_name":"TypeError","error_message":"/ops\\[1\\]\\.op/"}
//---
memory.batch("no array");
//=> {"success":false,"error_name":"TypeError"}
//---
memory.batch();
//=> {"success":false,"error_name":"TypeError"}
//---
memory.batch([null]);
//=> {"success":false,"error_name":"TypeError"}
//---
memory.list();
//=> {"result_json":["a"]}
