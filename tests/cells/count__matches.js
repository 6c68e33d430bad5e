//limits {"max_find_results":2}
[count("e") > 2, count("e") === count(/e/), count("no such text"), count("TODO", "i") >= count("TODO")];
//=> {"success":true,"result_json":[true,true,0,true],"warnings":[]}
//---
[count("[aeiou]") === P.match(/[aeiou]/g).length, count("^", "m") === find("^", "m").matches.length];
//=> {"success":true,"result_json":[true,true],"warnings":[]}
//---
count("(?=e)");
//=> {"success":false,"error_code":"js_error","error_name":"SyntaxError","error_message":"/\\(\\?=/"}
//---
count();
//=> {"success":false,"error_name":"TypeError","error_message":"TypeError: count: pattern is missing"}
//---
const count = 5;
count;
//=> {"success":true,"result_json":5,"warnings":["builtin_shadowed: count"]}
