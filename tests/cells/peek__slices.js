peek(0, 24);
//=> {"result_json":"\n===== AGENTS.md =====\n#"}
//---
[0, 1, 300, 311, 350, 1562].every((at) => peek(at, at + 40) === P.slice(at, at + 40));
//=> {"result_json":true}
//---
[peek(-10, 5) === P.slice(0, 5), peek(1560, 9999) === P.slice(1560), peek(5000, 6000), peek(20, 10), peek(7, 7)];
//=> {"result_json":[true,true,"","",""]}
//---
const at = P.indexOf("😀");
[peek(at, at + 2), peek(at, at + 1).length, peek(at + 1, at + 2).length, peek(at, at + 1) === P.slice(at, at + 1)];
//=> {"success":true,"result_json":["😀",1,1,true]}
//---
peek();
//=> {"success":false,"error_name":"TypeError","error_message":"TypeError: peek: start is missing","suggestion":"/^Call it as peek\\(start, end\\)/"}
//---
peek(1);
//=> {"success":false,"error_message":"TypeError: peek: end is missing"}
//---
peek("0", 5);
//=> {"success":false,"error_name":"TypeError","error_message":"/^TypeError: peek: start .*\"0\"/"}
//---
peek(0.5, 5);
//=> {"success":false,"error_name":"TypeError","error_message":"/start .*0.5/"}
//---
peek(Number.NaN, 5);
//=> {"success":false,"error_name":"TypeError"}
//---
peek(0, Infinity);
//=> {"success":false,"error_name":"TypeError"}
//---
peek(0, 1n);
//=> {"success":false,"error_name":"TypeError"}
//---
peek(0, 1, 2);
//=> {"success":false,"error_message":"TypeError: peek takes 2 arguments (start, end)"}
