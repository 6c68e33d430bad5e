const P = 1;
//=> {"success":false,"error_code":"js_error","error_name":"SyntaxError","error_message":"SyntaxError: P is a builtin and cannot be declared again","line":1,"column":7,"suggestion":"/my_P/"}
//---
function P() {}
//=> {"success":false,"error_name":"SyntaxError","line":1,"column":1}
//---
if (true) {
  var P = 1;
}
//=> {"success":false,"error_name":"SyntaxError","line":2,"column":7}
//---
{
  let P = 1;
  print(P);
}
(function inner(P) {
  return P;
})(2);
//=> {"success":true,"stdout":"1\n","result_json":2}
