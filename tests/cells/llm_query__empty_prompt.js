await llm_query(" \n");
//=> {"success":false,"error_code":"js_error","error_message":"TypeError: llm_query: the prompt is empty","suggestion":"Say what the model is to do."}
//---
await llm_query_batch(["", "fine"]);
//=> {"success":false,"error_code":"js_error","error_message":"TypeError: llm_query_batch: prompts[0]: the prompt is empty"}
