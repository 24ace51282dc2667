// A client of callwright.v1 over gRPC: places a call, waits for its end, downloads its recording and reads an error's
// detail. It prints what it found as one line of JSON, which the test that runs it reads.
import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { CallService, CallStatus } from "./gen/callwright/v1/call_pb.js";
import { ErrorDetailSchema } from "./gen/callwright/v1/rest_pb.js";

const [address, key, agentId] = process.argv.slice(2);

const authorize: Interceptor = (next) => (request) => {
  request.header.set("authorization", `Bearer ${key}`);
  return next(request);
};
const calls = createClient(CallService, createGrpcTransport({ baseUrl: `http://${address}`, interceptors: [authorize] }));

async function placeAndWait() {
  const placed = await calls.placeCall({ to: "+15005550006", agentId, variables: { name: "Maria" }, metadata: '{"from":"ts"}' });
  for (;;) {
    const { data } = await calls.getCallDetail({ id: placed.data!.callId });
    if (data!.call!.recordingUrl) return data!;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function download(id: string) {
  let size = 0n;
  let received = 0;
  let mediaType = "";
  for await (const { part } of calls.streamRecording({ id })) {
    if (part.case === "info") ({ mediaType, size } = part.value);
    if (part.case === "chunk") received += part.value.length;
  }
  return { mediaType, size: Number(size), received };
}

async function refusal(id: string) {
  try {
    await calls.getCall({ id });
  } catch (e) {
    const error = ConnectError.from(e);
    const [detail] = error.findDetails(ErrorDetailSchema);
    return { code: Code[error.code], errorCode: detail?.errorCode, status: detail?.status };
  }
  throw new Error(`${id} is there`);
}

const detail = await placeAndWait();
console.log(JSON.stringify({
  status: CallStatus[detail.call!.status],
  metadata: detail.call!.metadata,
  transcript: detail.transcript,
  recording: await download(detail.call!.id),
  unknown: await refusal("0198c1f2-7d3e-7a41-9b52-000000000000"),
  malformed: await refusal("nonsense"),
}));
