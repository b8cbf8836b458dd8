// One agent's client: client.mjs SDK COMMAND CALLS. SDK is v1, auto, pinned or
// legacy; the last three are modes of version 2. It starts COMMAND as an MCP
// server, lists its tools, makes the calls, and prints everything it was answered
// as one JSON object.
const [sdk, command, calls] = process.argv.slice(2);

const info = { name: "peers", version: "1.0.0" };
const modes = { auto: { mode: "auto" }, pinned: { mode: { pin: "2026-07-28" } }, legacy: undefined };

async function make() {
  if (sdk === "v1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    return [new Client(info), new StdioClientTransport({ command, args: [], stderr: "inherit" })];
  }
  if (!(sdk in modes)) throw new Error(`no such client: ${sdk}`);
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const options = modes[sdk] && { versionNegotiation: modes[sdk] };
  return [new Client(info, options), new StdioClientTransport({ command, args: [], stderr: "inherit" })];
}

const said = (error) => ({ name: error.name, code: error.code, message: error.message });
const answers = {};
const [client, transport] = await make();
try {
  await client.connect(transport);
  answers.server = client.getServerVersion() ?? null;
  answers.capabilities = client.getServerCapabilities() ?? null;
  answers.instructions = client.getInstructions() ?? null;
  answers.tools = (await client.listTools()).tools;
  answers.results = [];
  for (const call of JSON.parse(calls)) {
    try {
      answers.results.push(await client.callTool(call));
    } catch (error) {
      answers.results.push({ error: said(error) });
    }
  }
} catch (error) {
  answers.error = said(error);
}
await client.close();
process.stdout.write(JSON.stringify(answers) + "\n");
