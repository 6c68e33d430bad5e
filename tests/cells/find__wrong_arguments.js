find();
//=> {"success":false,"error_code":"js_error","error_name":"TypeError","error_message":"/^TypeError: find: pattern /","suggestion":"/find\\(pattern, flags\\)/"}
//---
find(42);
//=> {"success":false,"error_name":"TypeError","error_message":"/pattern .*42/"}
//---
find("a", 1);
//=> {"success":false,"error_name":"TypeError","error_message":"/flags .*1/"}
//---
find("a", "i", "extra");
//=> {"success":false,"error_name":"TypeError","error_message":"TypeError: find takes 2 arguments (pattern, flags)"}
//---
find("TODO", undefined).matches.length;
//=> {"result_json":1}
