//limits {"max_output_bytes":200}
print("é".repeat(200));
print("dropped");
console.error("dropped too");
"result stays";
//=> {"success":true,"truncated":true,"stderr":"","result_json":"result stays","warnings":["/^output_truncated: [\\d.]+ (bytes|KB) > 200 bytes$/"],
//   "stdout":"/^é{94}\\n\\[truncated\\]$/"}
//---
//limits {"max_output_bytes":200}
console.error("x".repeat(99));
print("😀".repeat(50));
//=> {"truncated":true,"stderr":"/^x{99}\\n$/","stdout":"/^(😀){22}\\n\\[truncated\\]$/"}
//---
//limits {"max_output_bytes":200}
for (let i = 0; i < 100000; i++) print("line");
//=> {"truncated":true,"warnings":["/^output_truncated: [\\d.]+ (bytes|KB) > 200 bytes$/"],"stdout":"/^(line\\n){37}lin\\n\\[truncated\\]$/"}
//---
//limits {"max_output_bytes":200}
print("x".repeat(150));
//=> {"truncated":false,"warnings":[]}
//---
for (let i = 0; i < 300; i++) print("y".repeat(999));
//=> {"truncated":true,"limits_applied":{"max_output_bytes":102400}}
//---
//limits {"max_output_bytes":200}
print("x".repeat(199));
//=> {"truncated":false,"warnings":[],"stdout":"/^x{199}\\n$/"}
