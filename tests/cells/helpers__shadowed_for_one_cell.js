helpers.add("h", "function greet() { return 'helper' }\nconst limit = 3;");
//---
function greet() { return "cell" }
const limit = 4;
[greet(), limit];
//=> {"success":true,"result_json":["cell",4]}
//---
[greet(), limit];
//=> {"result_json":["helper",3]}
//---
greet = () => "assigned";
[greet()];
//=> {"success":true,"result_json":["assigned"]}
//---
[greet()];
//=> {"result_json":["helper"]}
