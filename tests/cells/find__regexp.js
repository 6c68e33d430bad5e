find(/todo/i).matches.length;
//=> {"result_json":2}
//---
[find(/todo/g).matches.length, find(/todo/, "i").matches.length, find(/todo/i, "").matches.length];
//=> {"result_json":[1,2,1]}
//---
find(/todo/y);
//=> {"success":false,"error_code":"js_error","suggestion":"/./"}
//---
find(/[a-z]{2}/v);
//=> {"success":false,"error_code":"js_error","suggestion":"/./"}
