memory.put("k", undefined);
//=> {"success":false,"error_code":"js_error","error_name":"TypeError","error_message":"/undefined/","suggestion":"/delete/"}
//---
memory.put("", 1);
//=> {"success":false,"error_name":"TypeError","error_message":"/key must be a string/"}
//---
memory.put(1, 1);
//=> {"success":false,"error_name":"TypeError","error_message":"/key must be a string/"}
//---
memory.get();
//=> {"success":false,"error_name":"TypeError"}
//---
memory.put("x".repeat(1025), 1);
//=> {"success":false,"error_message":"/1,024/"}
//---
memory.put("x".repeat(1024), 1);
memory.list().length;
//=> {"result_json":1}
