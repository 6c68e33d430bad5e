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
