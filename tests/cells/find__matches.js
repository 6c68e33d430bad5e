find("todo|fixme", "i");
//=> {"success":true,"warnings":[],"result_json":{"matches":[[554,558],[912,916],[1210,1215]],"capped":false}}
//---
find("todo|fixme", "i").matches.map(([start, end]) => peek(start, end));
//=> {"result_json":["todo","TODO","FIXME"]}
//---
find("there is no such text");
//=> {"success":true,"warnings":[],"result_json":{"matches":[],"capped":false}}
//---
find("😀").matches.map(([start, end]) => [end - start, P.slice(start, end) === "😀"]);
//=> {"result_json":[[2,true],[2,true]]}
//---
const [[start, end]] = find("検索").matches;
[start === P.indexOf("検索"), end - start, peek(start, end)];
//=> {"result_json":[true,2,"検索"]}
//---
find("then (.*?) end").matches.map(([a, b]) => P.slice(a, b));
//=> {"result_json":["then 👩‍👩‍👧 end"]}
//---
find("two\\n").matches[0][0] === P.indexOf("two\n");
//=> {"result_json":true}
//---
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
//---
[find("^class ").matches.length, find("^class ", "m").matches.length];
//=> {"result_json":[0,2]}
//---
[find("sent.*Zürich").matches.length, find("sent.*Zürich", "s").matches.length];
//=> {"result_json":[0,1]}
//---
find("invoiceparser", "ims").matches.length;
//=> {"result_json":1}
//---
let caught;
try {
  find("a", "q");
} catch (error) {
  caught = [error instanceof Error, error.code, error.message.includes("q")];
}
caught;
//=> {"result_json":[true,"js_error",true]}
//---
find("x*", "").matches.length > 1000;
//=> {"result_json":true}
//---
find("^", "m").matches.length === P.split("\n").length;
//=> {"result_json":true}
//---
find("$").matches;
//=> {"result_json":[[1563,1563]]}
