import "./session/thread-entry.ts";
