// An agent's client, with the TypeScript SDK: it starts the guard as if it were
// the file server, and makes three calls.
import path from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const client = new Client({ name: "files-example", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command: "countersign", args: ["stdio", "--config", "executor.json"], stderr: "ignore" }));

const { tools } = await client.listTools();
console.log(`tools: ${tools.map((tool) => tool.name).sort().join(" ")}`);

async function call(what, name, args) {
  const answer = await client.callTool({ name, arguments: args });
  const text = answer.content.map((part) => part.text).join(" ").trim();
  console.log(`${what}: ${answer.isError ? "not done" : "done"}: ${text}`);
}

await call("read in the workspace", "read_text_file", { path: path.resolve("workspace/note.txt") });
await call("read outside it", "read_text_file", { path: "/etc/passwd" });
await call("write in the workspace", "write_file", { path: path.resolve("workspace/note.txt"), content: "changed" });

await client.close();
