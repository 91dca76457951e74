// Asks the server at argv[2] through OpenAI's client; prints what came as JSON.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: `${process.argv[2]}/v1`, apiKey: "none", maxRetries: 0 });
const model = "any";
const messages = [{ role: "user", content: "Tell me a story" }];
const chat = { model, messages, max_tokens: 16, temperature: 0 };
const short = { model, input: "Once upon a time", max_output_tokens: 12, temperature: 0 };

async function textOf(stream, pick) {
  let text = "";
  for await (const event of stream) text += pick(event) ?? "";
  return text;
}

async function errorOf(promise) {
  try {
    await promise;
  } catch (error) {
    const { status, code, type, param } = error;
    return { kind: error.constructor.name, status, code, type, param };
  }
  return null;
}

async function poll(id) {
  for (let n = 0; n < 400; n++) {
    const response = await client.responses.retrieve(id);
    if (!["queued", "in_progress"].includes(response.status)) return response;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the background response did not end");
}

const seen = {};
seen.models = (await client.models.list()).data.map((model) => model.id);

const whole = await client.chat.completions.create({ ...chat, logprobs: true });
seen.chat = whole.choices[0];
seen.usage = whole.usage;
seen.chatStreamed = await textOf(
  await client.chat.completions.create({ ...chat, stream: true }),
  (chunk) => chunk.choices[0]?.delta?.content,
);

const helper = client.chat.completions.stream({
  ...chat,
  stream_options: { include_usage: true },
});
seen.helperDeltas = 0;
helper.on("content.delta", () => seen.helperDeltas++);
seen.helper = (await helper.finalChatCompletion()).choices[0];
seen.helperUsage = await helper.totalUsage();

const text = { model, prompt: "Once upon a time", max_tokens: 16, temperature: 0 };
seen.completion = (await client.completions.create(text)).choices[0];
seen.completionStreamed = await textOf(
  await client.completions.create({ ...text, stream: true }),
  (chunk) => chunk.choices[0]?.text,
);

const response = await client.responses.create(short);
seen.response = { status: response.status, text: response.output_text, usage: response.usage };
seen.responseEvents = [];
seen.responseStreamed = await textOf(
  await client.responses.create({ ...short, stream: true }),
  (event) => {
    seen.responseEvents.push(event.type);
    return event.type === "response.output_text.delta" ? event.delta : "";
  },
);
const next = await client.responses.create({ ...short, previous_response_id: response.id });
seen.nextInputTokens = next.usage.input_tokens;
const begun = await client.responses.create({ ...short, background: true });
const ended = await poll(begun.id);
seen.background = { status: ended.status, text: ended.output_text };

const long = [{ role: "user", content: "word ".repeat(2000) }];
seen.tooLong = await errorOf(client.chat.completions.create({ ...chat, messages: long }));
seen.wrongValue = await errorOf(
  client.chat.completions.create({ ...chat, temperature: "hot" }),
);
seen.noModel = await errorOf(client.models.retrieve("another"));

// Leaving a stream in its middle.
const left = await client.chat.completions.create({ ...chat, max_tokens: 400, stream: true });
for await (const _ of left) break;
seen.afterLeaving = (await client.chat.completions.create(chat)).usage.completion_tokens;

console.log(JSON.stringify(seen));
