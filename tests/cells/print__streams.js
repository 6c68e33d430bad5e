print("out", 1, true, null, undefined);
console.log("log");
console.info("info");
console.debug("debug");
console.warn("warn");
console.error("error");
print();
//=> {"success":true,"stdout":"out 1 true null undefined\nlog\ninfo\ndebug\n\n","stderr":"warn\nerror\n","truncated":false}
//---
print("in part");
console.error("and here");
throw new Error("then");
//=> {"success":false,"stdout":"in part\n","stderr":"and here\n","error_message":"Error: then"}
//---
1;
//=> {"stdout":"","stderr":""}
//---
[print("x"), console.log.name, print.name, [1, 2].forEach(print)]
//=> {"result_json":[null,"log","print",null],"stdout":"x\n1 0 [1, 2]\n2 1 [1, 2]\n"}
