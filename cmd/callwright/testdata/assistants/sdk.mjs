// Uses the tools of a server as an assistant does: node sdk.mjs URL KEY AGENT_ID CALL_ID. Prints what it found as JSON.
// The client holds every answer against the output schema of its tool.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, key, agentId, callId] = process.argv.slice(2);

const connect = async (key) => {
  const client = new Client({ name: "callwright-test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: key ? { Authorization: `Bearer ${key}` } : {} },
  }));
  return client;
};

const client = await connect(key);
const { tools } = await client.listTools();
const ask = async (name, args) => {
  const answer = await client.callTool({ name, arguments: args });
  return answer.isError ? JSON.parse(answer.content[0].text) : answer.structuredContent;
};
const found = {
  server: client.getServerVersion().name,
  instructions: client.getInstructions(),
  readOnly: tools.filter((t) => t.annotations.readOnlyHint).map((t) => t.name).sort(),
  agents: await ask("list_agents", { q: "juni" }),
  agent: await ask("get_agent", { agent_id: agentId }),
  calls: await ask("list_calls", { agent_id: agentId, answered_by: "human" }),
  call: await ask("get_call", { call_id: callId }),
  unknown: await ask("get_call", { call_id: agentId }),
  malformed: await ask("list_calls", { limit: 201 }),
};
await client.close();
try {
  await connect("cw_live_wrong");
} catch (e) {
  found.refused = String(e);
}
console.log(JSON.stringify(found));
