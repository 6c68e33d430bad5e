const find = 1;
//=> {"success":false,"error_name":"SyntaxError","error_message":"SyntaxError: find is a builtin and cannot be declared again"}
//---
let ok = 1, { limits } = {};
//=> {"success":false,"error_message":"/limits is a builtin/","column":13}
//---
const [[budget = 1]] = [[]];
//=> {"success":false,"error_message":"/budget is a builtin/"}
//---
class search {}
//=> {"success":false,"error_message":"/search is a builtin/"}
//---
for (var peek of []);
//=> {"success":false,"error_message":"/peek is a builtin/"}
//---
let { a, ...memory } = {};
//=> {"success":false,"error_message":"/memory is a builtin/"}
//---
var rlm_memory_put = 1;
//=> {"success":false,"error_message":"/rlm_memory_put is a builtin/"}
//---
function print() {}
//=> {"success":false,"error_message":"/print is a builtin/"}
//---
let console;
//=> {"success":false,"error_message":"/console is a builtin/"}
//---
const my = (find, peek = 2) => [find, peek];
for (const search of [3]) my.push = search;
try {
  throw 4;
} catch (stats) {
  result = [...my(1), my.push, stats];
}
//=> {"success":true,"result_json":[1,2,3,4]}
