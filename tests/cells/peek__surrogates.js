const at = P.indexOf("😀");
[peek(at, at + 2), peek(at, at + 1).length, peek(at + 1, at + 2).length, peek(at, at + 1) === P.slice(at, at + 1)];
//=> {"success":true,"result_json":["😀",1,1,true]}
