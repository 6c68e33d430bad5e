var a = 1;
let b = 2;
const c = 3;
class D { four() { return 4 } }
function e() { return 5 }
f = 6;
const { g, h: [i] } = { g: 7, h: [8] };
async function j() { return 9 }
function* k() { yield 10 }
//---
[a, b, c, new D().four(), e(), f, g, i, await j(), [...k()]]
//=> {"result_json":[1,2,3,4,5,6,7,8,9,[10]]}
//---
const a = "a", b = "b";
let c = "c";
var D = "d";
class e {}
function f() { return "f" }
let [g, i] = "gi";
[a, b, c, D, typeof e, f(), g, i]
//=> {"success":true,"result_json":["a","b","c","d","function","f","g","i"]}
//---
e = 1; D = class {}; const f = 2;
[e, typeof D, f]
//=> {"success":true,"result_json":[1,"function",2]}
