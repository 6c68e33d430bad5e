find("x*", "").matches.length > 1000;
//=> {"result_json":true}
//---
find("^", "m").matches.length === P.split("\n").length;
//=> {"result_json":true}
//---
find("$").matches;
//=> {"result_json":[[1563,1563]]}
