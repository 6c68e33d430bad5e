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
