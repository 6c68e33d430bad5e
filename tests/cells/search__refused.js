search("text", 0);
//=> {"success":false,"error_code":"js_error","error_message":"TypeError: search: k must be at least 1, got 0"}
//---
search("text", 1.5);
//=> {"success":false,"error_message":"TypeError: search: k must be an integer, got 1.5"}
