// Reads a stream through a proxy that cuts every connection; prints what came.
import { resumingStream } from "../../../examples/resume_stream.mjs";

const [server, direct] = process.argv.slice(2);
const body = {
  messages: [{ role: "user", content: "Tell me a story" }],
  max_tokens: 120,
  temperature: 0,
  ignore_eos: true,
};
const stream = resumingStream(server, "/v1/chat/completions", body);
let text = "";
for await (const event of stream) text += event.choices[0]?.delta.content ?? "";

// A page that was reloaded knows the name alone.
const again = resumingStream(direct, "", {}, { conversationId: stream.conversationId });
let same = "";
for await (const event of again) same += event.choices[0]?.delta.content ?? "";

const failures = {};
const changed = resumingStream(direct, "", {}, { conversationId: stream.conversationId });
changed.crc.state = 1;
try {
  for await (const event of changed) event;
} catch (error) {
  failures.changed = error.message;
}
const refused = resumingStream(direct, "/v1/chat/completions", {});
try {
  for await (const event of refused) event;
} catch (error) {
  failures.refused = error.message;
}
const endless = resumingStream(direct, "/v1/chat/completions", { ...body, max_tokens: -1 });
try {
  for await (const event of endless) await endless.stop();
} catch (error) {
  failures.stopped = error.message;
}
const seen = { text, same, connections: stream.connections, bytes: stream.bytes, failures };
console.log(JSON.stringify(seen));
