// Asks the server at argv[2] through Anthropic's client; prints what came as JSON.
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: process.argv[2], apiKey: "none", maxRetries: 0 });
const messages = [{ role: "user", content: "Tell me a story" }];
const asked = { model: "any", max_tokens: 16, messages, temperature: 0 };

const seen = {};
const whole = await client.messages.create(asked);
seen.message = whole;
seen.counted = (await client.messages.countTokens({ model: "any", messages })).input_tokens;

const stream = client.messages.stream(asked);
seen.deltas = 0;
seen.kinds = [];
stream.on("text", () => seen.deltas++);
stream.on("streamEvent", (event) => seen.kinds.push(event.type));
seen.streamed = await stream.finalMessage();

try {
  const content = "word ".repeat(2000);
  await client.messages.create({ ...asked, messages: [{ role: "user", content }] });
} catch (error) {
  seen.tooLong = {
    kind: error.constructor.name,
    status: error.status,
    type: error.error?.error?.type,
    hasRequestId: Boolean(error.requestID ?? error.request_id),
  };
}

// Leaving a stream in its middle.
const left = client.messages.stream({ ...asked, max_tokens: 400 });
for await (const event of left) if (event.type === "content_block_delta") break;
left.abort();
seen.afterLeaving = (await client.messages.create(asked)).usage.output_tokens;

console.log(JSON.stringify(seen));
