import { isAbsolute, resolve } from "node:path";
import type { Tool } from "./define.ts";

/** A tool with a path, for a host whose model does not know the working folder: a relative path is refused. */
export function withAbsolutePath(tool: Tool): Tool {
  return {
    ...tool,
    parameters: { type: "object", required: ["path"], properties: { ...tool.parameters.properties, path: ABSOLUTE } },
    async run(open, args, call) {
      const { path }: { readonly path?: unknown } = Object(args);
      if (typeof path !== "string" || path === "" || isAbsolute(path)) return tool.run(open, args, call);
      return tool.failed({
        code: "invalid_argument",
        message: `${tool.name}: the path ${path} is relative`,
        suggestion: `Pass the absolute path: ${resolve(call.cwd, path)}`,
      });
    },
  };
}

const ABSOLUTE = { type: "string", description: "Absolute path" } as const;
