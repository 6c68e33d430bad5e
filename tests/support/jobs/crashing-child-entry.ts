// A process that ends before it has tried anything.
process.stderr.write("FATAL ERROR: out of memory\n");
process.exitCode = 134;
process.disconnect?.();
