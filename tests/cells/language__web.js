print(new URL("../z?x=1", "http://a.b/c/d"), new URLSearchParams("a=1&b=2"));
//=> {"stdout":"URL \"http://a.b/z?x=1\" URLSearchParams \"a=1&b=2\"\n"}
//---
new URL("nowhere");
//=> {"success":false,"error_name":"TypeError","error_message":"TypeError: Invalid URL: nowhere","line":1}
//---
const url = new URL("https://a.b/?q=1");
result = { url, bytes: new TextEncoder().encode("é").length, text: new TextDecoder("utf-16le").decode(new Uint8Array([97, 0])) };
//=> {"result_json":{"url":"https://a.b/?q=1","bytes":2,"text":"a"},"warnings":[]}
//---
[url.searchParams.get("q"), url instanceof URL, new WeakRef({ a: 1 }).deref()?.a]
//=> {"result_json":["1",true,1]}
//---
structuredClone({ list: [() => 1] });
//=> {"success":false,"error_name":"DataCloneError","error_message":"/cannot be cloned/","line":1}
//---
new TextDecoder("nope");
//=> {"success":false,"error_name":"RangeError","error_message":"RangeError: TextDecoder: The \"nope\" encoding is not supported"}
//---
new Date(Date.UTC(2026, 0, 5, 15)).toLocaleTimeString("en-US", { timeZone: "Asia/Tokyo" })
//=> {"result_json":"12:00:00 AM"}
//---
new Date(0).toLocaleString("en-US", { timeZone: "Mars/Olympus" })
//=> {"success":false,"error_name":"RangeError","error_message":"/Invalid time zone specified: Mars.Olympus/"}
//---
["file10", "file9", "B", "a"].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }))
//=> {"result_json":["a","B","file9","file10"]}
//---
const megabytes = new TextEncoder().encode("four".repeat(2e6));
[megabytes.length, new TextDecoder().decode(megabytes).length];
//=> {"result_json":[8000000,8000000]}
//---
structuredClone(Object.assign(new Error("x"), { name: "constructor" })) instanceof Error
//=> {"result_json":true}
//---
URL = class Mine {};
structuredClone = 5;
[new URL() instanceof URL, structuredClone];
//=> {"result_json":[true,5],"warnings":[]}
